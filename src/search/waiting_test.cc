#include "search/waiting.h"

#include <gtest/gtest.h>

#include <string>

namespace hone {
namespace {

Proposal Full(std::string text) {
  return {.candidate = {CandidateKind::kPlan, std::move(text)},
          .origin = "expert: tile 64 -> 128",
          .key = "y.tile=128",
          .predicted_us = 12.5,
          .rule = "spills",
          .promised = 0.3,
          .doubt = "all 3 were refused",
          .dropped = true};
}

TEST(WaitingProposalTest, ItIsWholeAgainBesideTheSameText) {
  const std::string base = "program p\ny = map(x) with {tile: 64}\n" + std::string(300, '#');
  for (const std::string& text :
       {base, std::string(), std::string("another"), "program p\ny = map(x) with {tile: 128}\n" + std::string(300, '#'),
        base + "more", base.substr(4), std::string(1000, '#'), std::string("with\0nothing", 12)}) {
    for (const std::string& beside : {base, std::string()}) {
      const Proposal proposal = Full(text);
      const CandidateKey key = CandidateKey::Of(proposal.candidate);
      const WaitingProposal waiting(proposal, key, beside);
      EXPECT_EQ(waiting.key(), proposal.key);
      EXPECT_EQ(waiting.predicted_us(), proposal.predicted_us);
      EXPECT_EQ(waiting.candidate(), key);
      const Proposal whole = waiting.Whole(beside);
      EXPECT_EQ(whole.candidate.kind, CandidateKind::kPlan);
      EXPECT_EQ(whole.candidate.text, text);
      EXPECT_EQ(whole.origin, proposal.origin);
      EXPECT_EQ(whole.key, proposal.key);
      EXPECT_EQ(whole.predicted_us, proposal.predicted_us);
      EXPECT_EQ(whole.rule, proposal.rule);
      EXPECT_EQ(whole.promised, proposal.promised);
      EXPECT_EQ(whole.doubt, proposal.doubt);
      EXPECT_TRUE(whole.dropped);
    }
  }
}

TEST(CandidateKeyTest, ItIsTheBeginningOfTheIdentity) {
  const Candidate candidate{CandidateKind::kProgram, "some text"};
  EXPECT_EQ(CandidateKey::Of(candidate), CandidateKey::OfIdentity(candidate.Identity()));
  EXPECT_FALSE(CandidateKey::Of(candidate) == CandidateKey::Of({CandidateKind::kModule, "some text"}));
  EXPECT_EQ(CandidateKey::OfIdentity("short"), CandidateKey());
}

}  // namespace
}  // namespace hone
