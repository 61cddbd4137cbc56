#include "command/outcome_text.h"

#include <gtest/gtest.h>

#include "search/loop.h"
#include "target/bound.h"
#include "target/device_model.h"
#include "verdict/verdict.h"

namespace hone {
namespace {

TEST(OutcomeTextTest, WhatIsFarApartIsSaidThoughThereIsNoRatio) {
  Timing timing;
  timing.warm = {.median_us = 6, .p10_us = 5, .p90_us = 8, .count = 50};
  Comparison naive{.baseline = "naive", .baseline_warm = {.median_us = 420, .p10_us = 400, .p90_us = 900, .count = 50}};
  naive.disturbed = "the machine was not quiet in 87 of 87 rounds";
  EXPECT_EQ(FarApart(timing, naive),
            "; but nine in ten calls of naive took 400 us or more, and of the best 8 us or less, 50.0 times as little");
  naive.baseline_warm.p10_us = 15;
  EXPECT_EQ(FarApart(timing, naive), "") << "others may have made that of nothing";
  timing.warm.p90_us = 0;
  EXPECT_EQ(FarApart(timing, naive), "");
}

TEST(OutcomeTextTest, WhoIsAheadWithoutAnIntervalIsNotCalledSlower) {
  SearchOutcome outcome;
  outcome.winner_confirmed = true;
  outcome.run.best_attempt = 1;
  Attempt attempt{.number = 1};
  attempt.evaluation.verdict.outcome = Outcome::kAccepted;
  attempt.evaluation.timing.emplace();
  attempt.evaluation.timing->warm.median_us = 8;
  attempt.evaluation.timing->against.push_back(
      {.baseline = "eager", .baseline_warm = {.median_us = 10}, .speedup = 1.25, .rounds = 5});
  outcome.confirmed.push_back({1, attempt.evaluation});
  outcome.tree.Begin(attempt);
  outcome.tree.AddAttempt(std::move(attempt));
  const auto text = [&] { return OutcomeText(outcome, Bound(), DeviceModel(), "runs.sqlite", Objective()); };
  EXPECT_NE(text().find("result   perhaps nothing faster than eager: 5 rounds are too few to say"), std::string::npos)
      << text();
  outcome.confirmed[0].evaluation.timing->against[0].speedup = 0.8;
  EXPECT_NE(text().find("result   nothing faster than eager was found: the best is 1.25x slower than it"),
            std::string::npos)
      << text();
}

}  // namespace
}  // namespace hone
