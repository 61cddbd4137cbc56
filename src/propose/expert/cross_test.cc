#include "propose/expert/cross.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "dsl/family.h"
#include "propose/expert/expert.h"

namespace hone {
namespace {

dsl::Program Read(const std::string& statements) {
  const auto parsed =
      dsl::Parse("program two\ninput x: f32[64, 300]\noutput y: f32[64, 300]\noutput z: f32[64, 300]\n" + statements);
  EXPECT_TRUE(std::holds_alternative<dsl::Program>(parsed)) << statements;
  return std::get<dsl::Program>(parsed);
}

std::set<std::string> Words(const std::string& parent, const std::string& mate) {
  std::set<std::string> words;
  for (const expert::Crossing& one : expert::Cross(Read(parent), Read(mate), Random(1))) words.insert(one.words);
  return words;
}

TEST(CrossTest, WholeStatementsAreOfTheOneOrOfTheOther) {
  const auto crossings = expert::Cross(
      Read("y = softmax(x) over [1] with {vector: 8, threads: 1}\nz = softmax(x * 2) over [1] with {vector: 8}\n"),
      Read("y = softmax(x) over [1] with {vector: 16, threads: 2}\nz = softmax(x * 2) over [1] with {vector: 32}\n"),
      Random(1));
  ASSERT_EQ(crossings.size(), 2u);
  for (const expert::Crossing& one : crossings) {
    const auto& statements = one.program.statements;
    const bool first = one.words == "y";
    EXPECT_EQ(one.words, first ? "y" : "z");
    EXPECT_EQ(dsl::ToString(statements[0].settings.at("vector")), first ? "16" : "8");
    EXPECT_EQ(dsl::ToString(statements[0].settings.at("threads")), first ? "2" : "1");
    EXPECT_EQ(dsl::ToString(statements[1].settings.at("vector")), first ? "8" : "32");
  }
}

TEST(CrossTest, OfASingleStatementThatDiffersTheSettingsAre) {
  const std::string same = "z = softmax(x * 2) over [1] with {vector: 8}\n";
  EXPECT_EQ(Words("y = softmax(x) over [1] with {vector: 8, threads: 1}\n" + same,
                  "y = softmax(x) over [1] with {vector: 16, threads: 2}\n" + same),
            (std::set<std::string>{"y.vector", "y.threads"}));
}

TEST(CrossTest, WhatWouldBeOneOfTheTwoIsNotMade) {
  const std::string same = "z = softmax(x * 2) over [1] with {vector: 8}\n";
  const std::string one = "y = softmax(x) over [1] with {vector: 8, threads: 1}\n" + same;
  EXPECT_EQ(Words(one, one), std::set<std::string>{});
  EXPECT_EQ(Words(one, "y = softmax(x) over [1] with {vector: 8, threads: 2}\n" + same), std::set<std::string>{});
  EXPECT_EQ(Words(one, "y = softmax(x + 1) over [1] with {vector: 16, threads: 2}\n" + same), std::set<std::string>{})
      << "another computation is no other way";
}

TEST(CrossTest, TheExpertOffersWhatIsLegalWithItsNameAndItsParents) {
  const auto problem = ParseProblem(R"({"hone_problem": 1, "name": "two", "tensors": [
      {"name": "x", "shape": [64, 300], "dtype": "f32", "role": "input",
       "generator": {"kind": "uniform", "low": 0, "high": 1}},
      {"name": "y", "shape": [64, 300], "dtype": "f32", "role": "output"}],
      "graph": [{"op": "softmax", "args": {"self": "%x", "dim": 1}, "outputs": ["y"]}]})",
                                    "test");
  ASSERT_TRUE(problem) << problem.error().message;
  const auto graph = Graph::Create(*problem);
  ASSERT_TRUE(graph) << graph.error().message;
  const auto expert = MakeExpert(*graph, DeviceModel{.threads = 4});
  Attempt first{.number = 1};
  first.proposal = expert->Propose({})->proposals.front();
  first.evaluation.verdict.outcome = Outcome::kAccepted;
  first.evaluation.timing = Timing{.warm = {.median_us = 40}};
  Attempt second = first;
  second.number = 2;
  // Two moves away, so that there is something between them.
  const auto moved = expert->Propose({.parent = 1, .history = {&first}})->proposals;
  for (const Proposal& one : moved) {
    second.proposal = one;
    const auto further = expert->Propose({.parent = 2, .history = {&first, &second}})->proposals;
    for (const Proposal& other : further) {
      Attempt third = second;
      third.number = 3;
      third.proposal = other;
      const Question question{.parent = 1, .mate = 3, .history = {&first, &second, &third}, .random = Random(1)};
      const auto crossed = expert->Propose(question)->proposals;
      if (crossed.empty()) continue;
      for (const Proposal& child : crossed) {
        EXPECT_NE(child.candidate.text, first.proposal.candidate.text);
        EXPECT_NE(child.candidate.text, third.proposal.candidate.text);
        EXPECT_TRUE(child.key.starts_with("cross 3 ")) << child.key;
        EXPECT_TRUE(child.origin.ends_with("as in attempt 3")) << child.origin;
        EXPECT_GT(child.predicted_us, 0);
      }
      return;
    }
  }
  FAIL() << "no two moves of a softmax can be crossed";
}

}  // namespace
}  // namespace hone
