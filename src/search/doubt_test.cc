#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>

#include "base/testing/must.h"
#include "search/bench.h"
#include "search/search.h"
#include "search/testing/scripted_evaluator.h"
#include "search/testing/scripted_proposer.h"

namespace hone {
namespace {

using testing::Must;
using testing::ScriptedEvaluator;

constexpr int kAttempts = 60;
constexpr std::uint64_t kSeed = 7;

// Every third of all candidates spills, by what they were "compiled" to.
class DoubtTest : public ::testing::TestWithParam<const StrategyRow*> {
 protected:
  static bool Spills(const Candidate& candidate) { return candidate.Identity()[0] < '5'; }

  // What a whole run, or the rest of one, says.
  SearchOutcome Search(Store& store, int stop_at = 0) {
    asked_.clear();
    std::atomic<bool> interrupt = false;
    ScriptedEvaluator evaluator(kSeed);
    evaluator.before = [&](int evaluation) -> Result<void> {
      if (evaluation == stop_at) interrupt = true;
      return {};
    };
    SearchHooks hooks;
    hooks.interrupt = &interrupt;
    hooks.doubt = [&](const Candidate& chosen, const Attempt& from) -> std::string {
      ++asked_[chosen.Identity()];
      if (from.number == 0 || !Spills(chosen)) return "";
      return "it spills, attempt " + std::to_string(from.number) + " does not";
    };
    return Must(RunScriptedSearch(store, std::string(GetParam()->name), kSeed,
                                  {.attempts = kAttempts, .seconds = 0, .headroom = -1}, evaluator, hooks));
  }

  std::map<std::string, int> asked_;  // by identity
};

TEST_P(DoubtTest, WhatIsDroppedIsNotTriedAndItsRoundSaysWhy) {
  Store store = Must(Store::Open(":memory:"));
  const SearchOutcome outcome = Search(store);
  int tried_all_the_same = 0;
  std::map<std::string, const Attempt*> tried;
  for (const TreeNode& node : outcome.tree.nodes()) {
    if (node.attempt.number == 0) continue;
    tried[node.attempt.proposal.candidate.Identity()] = &node.attempt;
    if (node.attempt.parent == 0 || !Spills(node.attempt.proposal.candidate)) continue;
    ++tried_all_the_same;
    EXPECT_TRUE(node.attempt.proposal.doubt.starts_with(kBuildDoubt)) << node.attempt.number;
  }
  int dropped = 0;
  for (const RoundRecord& round : Must(store.Rounds(outcome.run.id))) {
    for (const ProposalRecord& one : Must(store.Proposals(outcome.run.id, round.number))) {
      if (one.doubt.empty()) continue;
      EXPECT_EQ(one.doubt, "build: it spills, attempt " + std::to_string(round.parent) + " does not");
      EXPECT_EQ(one.dropped, !tried.contains(one.identity)) << one.key;
      dropped += one.dropped ? 1 : 0;
    }
  }
  EXPECT_EQ(dropped, outcome.dropped);
  EXPECT_GT(dropped, 0);
  for (const auto& [identity, times] : asked_) EXPECT_EQ(times, 1) << "what was dropped is not chosen again";
  const Doubts doubts = Must(store.CountDoubts("", ""));
  EXPECT_EQ(doubts.builds.dropped, dropped);
  EXPECT_EQ(doubts.builds.tried, tried_all_the_same);
  EXPECT_EQ(doubts.experience.dropped, 0);
}

TEST_P(DoubtTest, ARunThatGoesOnDropsTheSameAndAsksOnlyAboutWhatIsNew) {
  Store whole_store = Must(Store::Open(":memory:")), store = Must(Store::Open(":memory:"));
  const SearchOutcome whole = Search(whole_store);
  for (const int at : {5, 12}) static_cast<void>(Search(store, at));
  const SearchOutcome rest = Search(store);
  EXPECT_EQ(rest.tree.Signature(), whole.tree.Signature());
  EXPECT_EQ(rest.dropped, whole.dropped);
  EXPECT_FALSE(rest.diverged);
  for (const TreeNode& node : rest.tree.nodes()) {
    if (node.attempt.number >= 1 && node.attempt.number <= rest.replayed) {
      EXPECT_FALSE(asked_.contains(node.attempt.proposal.candidate.Identity())) << node.attempt.number;
    }
  }
}

TEST_P(DoubtTest, OneInEightIsTriedAllTheSame) {
  int dropped = 0, tried = 0;
  for (int seed = 0; seed < 40; ++seed) {
    Store store = Must(Store::Open(":memory:"));
    ScriptedEvaluator evaluator(kSeed);
    SearchHooks hooks;
    hooks.doubt = [](const Candidate& chosen, const Attempt&) {
      return std::string(Spills(chosen) ? "it spills" : "");
    };
    static_cast<void>(Must(RunScriptedSearch(store, std::string(GetParam()->name), static_cast<std::uint64_t>(seed),
                                             {.attempts = kAttempts, .seconds = 0, .headroom = -1}, evaluator, hooks)));
    const Doubts doubts = Must(store.CountDoubts("", ""));
    dropped += static_cast<int>(doubts.builds.dropped);
    tried += static_cast<int>(doubts.builds.tried);
    EXPECT_LE(doubts.builds.accepted, doubts.builds.tried);
    EXPECT_LE(doubts.builds.better, doubts.builds.accepted);
  }
  ASSERT_GT(dropped + tried, 100);
  EXPECT_GT(tried * 16, dropped + tried);
  EXPECT_LT(tried * 5, dropped + tried);
}

INSTANTIATE_TEST_SUITE_P(Strategies, DoubtTest, ::testing::ValuesIn(AllStrategies().begin(), AllStrategies().end()),
                         [](const auto& one) { return std::string(one.param->name); });

}  // namespace
}  // namespace hone
