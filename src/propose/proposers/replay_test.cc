#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "candidate/launch_lines.h"
#include "propose/proposer.h"
#include "propose/testing/small_graph.h"

namespace hone {
namespace {

class ReplayTest : public ::testing::Test {
 protected:
  ReplayTest() { folder_ = std::make_unique<TempDirectory>(*TempDirectory::Create("replay")); }

  Result<std::unique_ptr<Proposer>> Of(std::string_view lines) {
    const std::string path = folder_->path() + "/rounds.jsonl";
    EXPECT_TRUE(WriteFileAtomically(path, lines));
    const auto chosen = ChooseProposer("replay:" + path);
    EXPECT_TRUE(chosen) << chosen.error().message;
    return chosen->row->make({.graph = graph_, .machine = machine_, .parameters = chosen->parameters});
  }

  const Graph graph_ = testing::SmallGraph();
  const DeviceModel machine_;
  std::unique_ptr<TempDirectory> folder_;
};

TEST_F(ReplayTest, EachCandidateGetsItsRoundsTurnByTurn) {
  Attempt attempt{.number = 1};
  attempt.proposal.candidate = {CandidateKind::kModule, "b"};
  const auto proposer = Of(R"({"proposals": [{"text": "a"}, {"kind": "module", "text": "b", "predicted_us": 3}]}

{"from": ")" + attempt.proposal.candidate.Identity() +
                           R"(", "proposals": [{"text": "c", "origin": "agent: idea", "key": "idea"}]}
{"from": null, "proposals": [{"text": "d"}]}
)");
  ASSERT_TRUE(proposer) << proposer.error().message;
  const Round start = *(*proposer)->Propose({});
  ASSERT_EQ(start.proposals.size(), 2u);
  EXPECT_EQ(start.proposals[0].candidate.kind, CandidateKind::kProgram);
  EXPECT_EQ(start.proposals[0].candidate.text, "a");
  EXPECT_NE(start.proposals[0].key, start.proposals[1].key);
  EXPECT_EQ(start.proposals[1].candidate.kind, CandidateKind::kModule);
  EXPECT_EQ(start.proposals[1].predicted_us, 3);
  EXPECT_EQ((*proposer)->Propose({.turn = 1})->proposals.at(0).candidate.text, "d");
  EXPECT_TRUE((*proposer)->Propose({.turn = 2})->proposals.empty());
  const Round next = *(*proposer)->Propose({.parent = 1, .history = {&attempt}});
  ASSERT_EQ(next.proposals.size(), 1u);
  EXPECT_EQ(next.proposals[0].origin, "agent: idea");
  EXPECT_TRUE((*proposer)->Propose({.parent = 1, .turn = 1, .history = {&attempt}})->proposals.empty());
}

TEST_F(ReplayTest, ARoundOfAnotherProblemIsNotAnswered) {
  const auto proposer = Of(R"({"problem": "another", "proposals": [{"text": "a"}]}
{"problem": ")" + graph_.problem().name +
                           R"(", "proposals": [{"text": "b"}]}
{"proposals": [{"text": "c"}]}
)");
  ASSERT_TRUE(proposer) << proposer.error().message;
  EXPECT_EQ((*proposer)->Propose({})->proposals.at(0).candidate.text, "b");
  EXPECT_EQ((*proposer)->Propose({.turn = 1})->proposals.at(0).candidate.text, "c");
  EXPECT_TRUE((*proposer)->Propose({.turn = 2})->proposals.empty());
  EXPECT_EQ(Of(R"({"problem": "another", "proposals": [{"text": "a"}]})").error().message,
            "proposer replay: no line of the file says what to begin with; one without \"from\" does, if its "
            "\"problem\" is '" +
                graph_.problem().name + "' or it has none");
}

// What docs/measured/agents.md says was answered can be tried again.
TEST_F(ReplayTest, WhatWasRecordedOnADeviceIsRead) {
  const char* source = std::getenv("HONE_SOURCE");
  ASSERT_NE(source, nullptr) << "HONE_SOURCE names the repository";
  int runs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(source) + "/docs/measured/agents")) {
    ++runs;
    const std::string path = entry.path().string(), text = *ReadFile(path);
    const auto proposer = Of(text);
    ASSERT_TRUE(proposer) << path << ": " << proposer.error().message;
    EXPECT_EQ((*proposer)->Propose({})->proposals.at(0).candidate.kind, CandidateKind::kProgram) << path;
    int answers = 0;
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
      const auto round = nlohmann::json::parse(text.substr(at, text.find('\n', at) - at));
      for (const auto& one : round.at("proposals")) {
        if (!one.at("origin").get<std::string>().starts_with("mailbox: ")) continue;
        ++answers;
        EXPECT_TRUE(HasLaunchLines(one.at("text").get<std::string>())) << path;
      }
    }
    EXPECT_GE(answers, 2) << path;
  }
  EXPECT_EQ(runs, 15);
}

TEST_F(ReplayTest, ABadFileGivesOneLine) {
  const auto message = [&](std::string_view lines) { return Of(lines).error().message; };
  EXPECT_NE(message("{\"proposals\": []}\nno json\n").find("line 2 of the file is no round: "), std::string::npos);
  EXPECT_NE(message("{\"proposals\": [{\"text\": 3}]}").find("line 1 of the file is no round: "), std::string::npos);
  EXPECT_EQ(message("{\"proposals\": [{\"text\": \"a\", \"kind\": \"poem\"}]}"),
            "proposer replay: line 1 of the file is no round: there is no kind of candidate 'poem'");
  EXPECT_TRUE(message("").starts_with("proposer replay: no line of the file says what to begin with; one without "));
}

}  // namespace
}  // namespace hone
