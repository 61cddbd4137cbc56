#include "propose/recalled.h"

#include <gtest/gtest.h>

#include "base/testing/must.h"
#include "dsl/program.h"
#include "propose/expert/expert.h"

namespace hone {
namespace {

using testing::Must;

// relu of x, and then what `then` makes of it.
Problem Relu(const std::string& x, const std::string& shape, const std::string& contract = "fp32") {
  return Must(ParseProblem(
      R"({"hone_problem": 1, "name": "relu", "contract": ")" + contract + R"(", "tensors": [{"name": ")" + x +
          R"(", "shape": )" + shape +
          R"(, "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
                               {"name": "y", "shape": )" +
          shape + R"(, "dtype": "f32", "role": "output"}],
                               "graph": [{"op": "relu", "args": {"self": "%)" +
          x + R"("}, "outputs": ["y"]}]})",
      "test"));
}

const DeviceModel kMachine{.threads = 2};

Proposal First(const Problem& problem, const Recalled* recalled = nullptr) {
  const Graph graph = Must(Graph::Create(problem));
  return Must(MakeExpert(graph, kMachine, nullptr, Saving::kTime, recalled)->Propose({})).proposals.at(0);
}

// What remains of a run in which the first move from the start won.
Recalled Won(const Problem& problem, std::string* winner) {
  const Graph graph = Must(Graph::Create(problem));
  const auto expert = MakeExpert(graph, kMachine);
  Attempt start{.number = 1, .proposal = Must(expert->Propose({})).proposals.at(0)};
  start.evaluation.verdict.outcome = Outcome::kAccepted;
  start.evaluation.timing = Timing{.warm = {.median_us = 100}};
  *winner = Must(expert->Propose({.parent = 1, .history = {&start}})).proposals.at(0).candidate.text;
  Recalled recalled{PiecesOfProgram(*winner, problem, kMachine), {}};
  for (auto& [key, piece] : recalled.proven) {
    EXPECT_EQ(WhyNoProgram(piece.text, "cpu"), "");
    EXPECT_EQ(WhyNoProgram(piece.text, "cuda"), "");
    piece.gain = 2;
    piece.run = "0a1b2c";
    piece.problem = "relu";
  }
  return recalled;
}

TEST(RecalledTest, APieceIsTheSameUnderOtherNamesAndAnotherOneWithOtherShapesOrContracts) {
  const auto keys = [](const Problem& problem) { return BeginningsOf(Must(Graph::Create(problem)), kMachine).keys; };
  const auto keys_of_x = keys(Relu("x", "[64, 1000]"));
  ASSERT_EQ(keys_of_x.size(), 1u) << "every cut is the same map";
  EXPECT_EQ(keys(Relu("activations", "[64, 1000]")), keys_of_x);
  EXPECT_NE(keys(Relu("x", "[64, 1001]")), keys_of_x);
  EXPECT_NE(keys(Relu("x", "[64, 1000]", "bf16")), keys_of_x);
}

TEST(RecalledTest, WhatWonIsOfferedFirstForAnEqualPieceAndSaysWhoseItIs) {
  std::string winner;
  const Recalled recalled = Won(Relu("x", "[64, 1000]"), &winner);
  ASSERT_EQ(recalled.proven.size(), 1u);
  EXPECT_EQ(recalled.proven.begin()->second.share, 1);

  const Problem other = Relu("activations", "[64, 1000]");
  const Proposal usual = First(other), proven = First(other, &recalled);
  EXPECT_NE(proven.candidate.text, usual.candidate.text);
  EXPECT_NE(proven.origin.find("1 of 1 kernels as in run 0a1b2c (relu)"), std::string::npos) << proven.origin;
  EXPECT_LT(proven.predicted_us, usual.predicted_us);
  const auto settings = [](const std::string& text) {
    const auto parsed = dsl::Parse(text);
    return std::get<dsl::Program>(parsed).statements.at(0).settings;
  };
  EXPECT_EQ(settings(proven.candidate.text), settings(winner));
  EXPECT_NE(settings(proven.candidate.text), settings(usual.candidate.text));
}

TEST(RecalledTest, WhatWonForAnotherPieceChangesNothing) {
  std::string winner;
  const Recalled recalled = Won(Relu("x", "[64, 1000]"), &winner);
  EXPECT_EQ(First(Relu("x", "[64, 1001]"), &recalled).candidate.text, First(Relu("x", "[64, 1001]")).candidate.text);
}

TEST(RecalledTest, SettingsThatTheCheckerRefusesAreNotOffered) {
  std::string winner;
  Recalled recalled = Won(Relu("x", "[64, 1000]"), &winner);
  recalled.proven.begin()->second.settings = {{"vector", "7"}};
  const Problem problem = Relu("x", "[64, 1000]");
  EXPECT_EQ(First(problem, &recalled).candidate.text, First(problem).candidate.text);
}

TEST(RecalledTest, MovesThatWereAlwaysRefusedAreDroppedButForAFewThatAreTriedAllTheSame) {
  const Problem problem = Relu("x", "[64, 1000]");
  const Graph graph = Must(Graph::Create(problem));
  Attempt start{.number = 1, .proposal = First(problem)};
  start.evaluation.verdict.outcome = Outcome::kAccepted;
  start.evaluation.timing = Timing{.warm = {.median_us = 100}};
  const auto moves = [&](const Recalled& recalled, std::uint64_t seed) {
    const auto expert = MakeExpert(graph, kMachine, nullptr, Saving::kTime, &recalled);
    return Must(expert->Propose({.parent = 1, .history = {&start}, .random = Random(seed)})).proposals;
  };
  const auto doomed = moves({}, 1).at(0);
  EXPECT_EQ(doomed.doubt, "");
  Recalled recalled;
  auto lesson = *ChangeBetween(start.proposal.candidate.text, doomed.candidate.text, problem, kMachine);
  lesson.End(100, 0);
  for (int i = 0; i < 3; ++i) recalled.experience.Add(lesson);
  int dropped = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    for (const Proposal& one : moves(recalled, seed)) {
      EXPECT_EQ(one.doubt.empty(), one.key != doomed.key) << one.key;
      dropped += one.dropped ? 1 : 0;
    }
  }
  EXPECT_GT(dropped, 400 * 3 / 4);
  EXPECT_LT(dropped, 400);
  EXPECT_EQ(moves(recalled, 5).back().dropped, moves(recalled, 5).back().dropped);
}

TEST(RecalledTest, ItReadsBackAndWhatIsNotOursIsRefused) {
  std::string winner;
  const Recalled recalled = Won(Relu("x", "[64, 1000]"), &winner);
  EXPECT_EQ(ToJson(Must(ParseRecalled(ToJson(recalled)))), ToJson(recalled));
  EXPECT_EQ(ToJson(Recalled{}), "{}");
  EXPECT_TRUE(Must(ParseRecalled("{}")).empty());
  EXPECT_FALSE(ParseRecalled("no json"));
  EXPECT_FALSE(ParseRecalled(R"({"proven": 3})"));
}

TEST(RecalledTest, ATextThatIsNoProgramOfTheProblemHasNoPieces) {
  EXPECT_TRUE(PiecesOfProgram("int main() {}", Relu("x", "[8]"), kMachine).empty());
  EXPECT_TRUE(WhyNoProgram("int main() {}", "cpu").starts_with("line 1, column 1: "))
      << WhyNoProgram("int main() {}", "cpu");
  std::string winner;
  Won(Relu("x", "[64, 1000]"), &winner);
  EXPECT_TRUE(PiecesOfProgram(winner, Relu("x", "[8]"), kMachine).empty());
}

}  // namespace
}  // namespace hone
