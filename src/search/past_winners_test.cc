#include "search/past_winners.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/testing/must.h"
#include "store/testing/some_records.h"

namespace hone {
namespace {

using namespace testing;

std::string ProblemOf(const std::vector<std::string>& operators) {
  std::string graph;
  for (const std::string& one : operators) graph += fmt::format("{}{{\"op\": \"{}\"}}", graph.empty() ? "" : ", ", one);
  return fmt::format("{{\"graph\": [{}]}}", graph);
}

class PastWinnersTest : public ::testing::Test {
 protected:
  // A run that ended, won by this text.
  RunRecord Won(const std::string& name, const std::string& problem, const std::string& text, bool confirmed = true,
                const std::string& machine = "here") {
    RunRecord run = Begun(name, problem, machine);
    AttemptRecord attempt{.run = run.id, .number = 1, .kind = "program", .started_ms = 1};
    Must(store_.BeginAttempt(attempt, text));
    attempt = Must(store_.Attempts(run.id)).at(0);
    attempt.ended_ms = 2;
    attempt.outcome = "accepted";
    attempt.evaluation = "{}";
    attempt.median_us = 10;
    run.best_attempt = 1;
    run.state = RunState::kDone;
    Must(store_.EndAttempt(attempt, "", run));
    if (confirmed)
      Must(store_.AddConfirmation({.run = run.id,
                                   .attempt = 1,
                                   .ended_ms = 3,
                                   .outcome = "accepted",
                                   .evaluation = "{}",
                                   .median_us = 9,
                                   .speedup = 2},
                                  "", run));
    Must(store_.UpdateRun(run));
    return run;
  }
  RunRecord Begun(const std::string& name, const std::string& problem, const std::string& machine = "here") {
    RunRecord run = SomeRun();
    run.problem_name = name;
    run.target = "cpu";
    run.machine = machine;
    return Must(store_.CreateRun(run, problem));
  }
  std::vector<std::string> Texts(const RunRecord& run) {
    std::vector<std::string> texts;
    for (const PastWinner& one : Must(PastWinners(store_, run))) texts.push_back(one.candidate.text);
    return texts;
  }

  Store store_ = Must(Store::Open(":memory:"));
};

TEST_F(PastWinnersTest, TheMostAlikeComeFirstAndThoseWithNothingInCommonNever) {
  Won("far", ProblemOf({"convolution"}), "far");
  Won("half", ProblemOf({"mm", "relu"}), "half");
  Won("same", ProblemOf({"mm", "gelu"}), "same");
  Won("third", ProblemOf({"mm", "relu", "add"}), "third");
  Won("fourth", ProblemOf({"mm", "relu", "add", "mul"}), "fourth");
  const RunRecord run = Begun("mine", ProblemOf({"mm", "gelu"}));
  EXPECT_EQ(Texts(run), (std::vector<std::string>{"same", "half", "third"}));
  const PastWinner first = Must(PastWinners(store_, run)).at(0);
  EXPECT_EQ(first.problem, "same");
  EXPECT_EQ(first.time_us, 9);
  EXPECT_EQ(first.speedup, 2);
  EXPECT_EQ(first.likeness, 1);
}

TEST_F(PastWinnersTest, WhatWasNotConfirmedIsOfAnotherMachineOrThereTwiceIsLeftOut) {
  Won("a", ProblemOf({"mm"}), "text");
  Won("b", ProblemOf({"mm"}), "text");
  Won("c", ProblemOf({"mm"}), "unconfirmed", false);
  Won("d", ProblemOf({"mm"}), "elsewhere", true, "there");
  Begun("e", ProblemOf({"mm"}));
  EXPECT_EQ(Texts(Begun("mine", ProblemOf({"mm"}))), (std::vector<std::string>{"text"}));
  EXPECT_TRUE(Texts(Begun("odd", "no json")).empty());
}

}  // namespace
}  // namespace hone
