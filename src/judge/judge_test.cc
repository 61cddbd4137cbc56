// The judge's steps, with a worker that is no process. What each gate refuses is in gates/.
#include "judge/judge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/files.h"
#include "base/process.h"
#include "judge/testing/fake_worker.h"

namespace hone::testing {
namespace {

TEST(JudgeTest, WhatIsWrongOnTheVeryWideDrawAloneIsNormwiseAndRefusedUnderFullRange) {
  FakeCourt court;
  court.candidate.run = [](const FakeCall& call) {
    FakeCourt::Compute(call);
    const float* x = call.inputs[0];
    // Only there are numbers that far apart, of which the first may be one to which 1 is nothing.
    if (std::any_of(x, x + call.count, [](float value) { return std::abs(value) > 1e5f; }))
      call.outputs[0][0] += 1 + std::abs(call.outputs[0][0]) / 64;
  };
  const Verdict verdict = court.Check();
  EXPECT_TRUE(verdict.accepted()) << verdict.reason;
  EXPECT_EQ(verdict.range, "normwise");
  EXPECT_EQ(court.Evaluate({.time = false, .range_full = true}).verdict.outcome, Outcome::kWrongResult);
}

TEST(JudgeTest, ATimedCallThatIsWrongIsRefused) {
  FakeCourt court;
  court.candidate.run = [](const FakeCall& call) {
    FakeCourt::Compute(call);
    if (call.timed) call.outputs[0][7] = 0;
  };
  const Evaluation evaluation = court.Time();
  EXPECT_EQ(evaluation.verdict.outcome, Outcome::kWrongResult);
  EXPECT_TRUE(evaluation.verdict.reason.starts_with("a timed call was wrong: ")) << evaluation.verdict.reason;
  EXPECT_FALSE(evaluation.timing);
}

TEST(JudgeTest, WhoDiesWhileItIsTimedGetsTheWorkersVerdict) {
  FakeCourt court;
  int left = 30;
  court.candidate.answer = [&left](const Request& request, Reply&) -> Refusal {
    if (request.ask != Ask::kTime || --left > 0) return std::nullopt;
    return Refuse(Outcome::kCrash, "crashed with SIGBUS");
  };
  const Verdict verdict = court.Time().verdict;
  EXPECT_EQ(verdict.outcome, Outcome::kCrash);
  EXPECT_EQ(verdict.evidence->draw, "timing");
}

TEST(JudgeTest, ACandidateIsTimedByAnotherWorkerThanTheOneThatWasChecked) {
  FakeCourt court;
  court.candidate.call_us = [](const FakeCall&) { return 250.0; };
  const Evaluation evaluation = court.Time();
  EXPECT_TRUE(evaluation.verdict.accepted()) << evaluation.verdict.reason;
  ASSERT_TRUE(evaluation.timing);
  EXPECT_EQ(evaluation.timing->warm.median_us, 250);
  EXPECT_EQ(evaluation.timing->cold.median_us, 250);
  EXPECT_EQ(court.candidate.workers, 2);
}

TEST(JudgeTest, WhoAreConfirmedOneAfterTheOtherHaveTheSameDraws) {
  FakeCourt court;
  std::set<float> seen;
  court.candidate.run = [&](const FakeCall& call) {
    FakeCourt::Compute(call);
    if (!call.timed) seen.insert(call.inputs[0][0]);
  };
  const auto seen_by = [&](bool fresh) {
    seen.clear();
    EXPECT_TRUE(court.Evaluate({.time = false, .fresh_draws = fresh}).verdict.accepted());
    return seen;
  };
  const auto attempt = seen_by(false), first = seen_by(true), second = seen_by(true);
  EXPECT_NE(first, attempt);
  EXPECT_EQ(second, first);
  seen_by(false);
  EXPECT_NE(seen_by(true), first) << "an attempt has seen those";
}

TEST(JudgeTest, WhoIsClearlySlowerThanTheFastestIsTimedNoLonger) {
  FakeCourt court;
  const Evaluation slow = court.Evaluate({.timing_budget = std::chrono::seconds(60), .baselines = {}, .best_us = 50});
  ASSERT_TRUE(slow.timing);
  EXPECT_TRUE(slow.timing->ended_early);
  const Evaluation timed = court.Time();
  EXPECT_TRUE(timed.timing && !timed.timing->ended_early);
}

// A program that takes its time, and leaves a line in a file for each answer.
OutsideBaseline Slow(const std::string& file) {
  return {.name = "slow",
          .mode = {},
          .argv = {"/bin/sh", "-c",
                   "echo begun >> " + file + "; while read line; do sleep 0.2; echo answered >> " + file +
                       "; echo '{\"ns\": [100000, 100000]}'; done"},
          .environment = InheritedEnvironment(),
          .directory = {}};
}

TEST(JudgeTest, AnExpectedBaselineIsReadyBeforeACandidateIsCalled) {
  const auto folder = TempDirectory::Create("expected");
  ASSERT_TRUE(folder);
  const std::string file = folder->path() + "/said";
  FakeCourt court;
  court.outside = {Slow(file)};
  court.expected = {"slow"};
  std::string said;  // when the candidate was called first
  court.candidate.run = [&](const FakeCall& call) {
    FakeCourt::Compute(call);
    if (said.empty()) said = ReadFile(file).value_or("nothing");
  };
  EXPECT_TRUE(court.Check().accepted());
  EXPECT_EQ(said, "begun\nanswered\n");
  const Evaluation timed = court.Evaluate({.timing_budget = std::chrono::milliseconds(20), .baselines = {"slow"}});
  ASSERT_TRUE(timed.timing);
  ASSERT_EQ(timed.timing->against.size(), 1u);
  EXPECT_EQ(timed.timing->against[0].baseline_warm.median_us, 100);
  const std::string all = ReadFile(file).value_or("");
  EXPECT_EQ(all.find("begun", 1), std::string::npos) << "it was started once";
}

TEST(JudgeTest, ABaselineThatNobodyExpectsIsStartedWhenItIsTimed) {
  const auto folder = TempDirectory::Create("unexpected");
  ASSERT_TRUE(folder);
  const std::string file = folder->path() + "/said";
  FakeCourt court;
  court.outside = {Slow(file)};
  EXPECT_TRUE(court.Check().accepted());
  EXPECT_FALSE(ReadFile(file)) << "nobody has asked for it";
  const Evaluation timed = court.Evaluate({.timing_budget = std::chrono::milliseconds(20), .baselines = {"slow"}});
  ASSERT_TRUE(timed.timing);
  EXPECT_EQ(timed.timing->against.size(), 1u);
}

TEST(JudgeTest, AnExpectedBaselineThatEndsIsStartedAgainWhenItIsTimed) {
  const auto folder = TempDirectory::Create("again");
  ASSERT_TRUE(folder);
  const std::string file = folder->path() + "/said";
  FakeCourt court;
  court.outside = {Slow(file)};
  std::string& script = court.outside[0].argv[2];
  script = "test -e " + file + " || { echo first > " + file + "; exit 1; }; " + script;
  court.expected = {"slow"};
  EXPECT_TRUE(court.Check().accepted());
  const Evaluation timed = court.Evaluate({.timing_budget = std::chrono::milliseconds(20), .baselines = {"slow"}});
  ASSERT_TRUE(timed.timing);
  ASSERT_EQ(timed.timing->against.size(), 1u) << (timed.how->notes.empty() ? "" : timed.how->notes[0]);
  EXPECT_EQ(ReadFile(file).value_or("").substr(0, 12), "first\nbegun\n");
}

TEST(JudgeTest, ABaselineThatIsNotThereIsAWrongWordOfTheUsers) {
  FakeCourt court;
  const auto evaluation = court.TryToEvaluate({.baselines = {"lightning"}});
  ASSERT_FALSE(evaluation);
  EXPECT_EQ(evaluation.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(evaluation.error().message, "there is no baseline 'lightning' here");
}

TEST(JudgeTest, AnInterruptIsAnErrorAndNoVerdict) {
  FakeCourt court;
  court.candidate.interrupted = true;
  const auto evaluation = court.TryToEvaluate({.time = false});
  ASSERT_FALSE(evaluation);
  EXPECT_EQ(evaluation.error().kind, ErrorKind::kInterrupted);
}

}  // namespace
}  // namespace hone::testing
