#include "judge/rounds.h"

#include <gtest/gtest.h>

#include <vector>

namespace hone {
namespace {

// One sample a turn.
Turns Of(const std::vector<double>& medians_us) {
  Turns turns;
  int round = 0;
  for (const double us : medians_us) turns.Add(round++, {.warm_us = {us}, .cold_us = {2 * us}});
  return turns;
}

TEST(RoundsTest, QuietRoundsGiveARatioWithItsInterval) {
  const auto of = Compare("eager", Of({20, 21, 20, 22, 20, 21}), Of({10, 10, 10, 10, 10, 10}), Dispatch::kCounted, 0);
  EXPECT_EQ(of.disturbed, "");
  ASSERT_TRUE(of.speedup);
  EXPECT_NEAR(*of.speedup, 2.05, 1e-9);
  ASSERT_TRUE(of.interval);
  EXPECT_EQ(of.interval->low, 2);
  EXPECT_EQ(of.interval->high, 2.2);
  EXPECT_EQ(of.rounds, 6);
  ASSERT_TRUE(of.baseline_cold);
  EXPECT_EQ(of.baseline_cold->median_us, 41);
}

TEST(RoundsTest, FewRoundsGiveARatioAndNoInterval) {
  const auto of = Compare("naive", Of({200, 210}), Of({10, 10}), Dispatch::kCounted, 0);
  EXPECT_EQ(of.speedup, 20.5);
  EXPECT_FALSE(of.interval);
}

TEST(RoundsTest, RoundsInWhichTheMachineWorkedForOthersDoNotCount) {
  Turns baseline = Of({20, 20, 20, 20, 90, 80}), candidate = Of({10, 10, 10, 10, 11, 10});
  for (Turns* turns : {&baseline, &candidate}) turns->DisturbSince(4);
  const auto of = Compare("eager", baseline, candidate, Dispatch::kCounted, 0);
  EXPECT_EQ(of.speedup, 2);
  EXPECT_EQ(of.rounds, 4);
  EXPECT_EQ(baseline.Warm().count, 4);
}

TEST(RoundsTest, WhatNoQuietRoundHasIsThatOfAll) {
  Turns turns;
  for (int round = 0; round < 5; ++round) turns.Add(round, {.warm_us = {10, 11}, .cold_us = {20}});
  turns.DisturbSince(0);
  turns.Add(5, {.warm_us = {10}, .cold_us = {}});
  EXPECT_EQ(turns.calm(), 1);
  EXPECT_EQ(turns.Warm().count, 1);
  EXPECT_EQ(turns.Cold().count, 5) << "or cold calls would be wanted until the machine is quiet";
  EXPECT_EQ(turns.taken(), 11u);
}

TEST(RoundsTest, WithoutQuietRoundsThereIsNoRatio) {
  Turns baseline = Of({20, 20, 20, 20}), candidate = Of({10, 10, 10, 10});
  for (Turns* turns : {&baseline, &candidate}) turns->DisturbSince(1);
  const auto of = Compare("eager", baseline, candidate, Dispatch::kCounted, 0);
  EXPECT_FALSE(of.speedup);
  EXPECT_FALSE(of.interval);
  EXPECT_EQ(of.disturbed, "the machine was not quiet in 3 of 4 rounds");
  EXPECT_EQ(of.baseline_warm.median_us, 20) << "its time is stated all the same";
}

TEST(RoundsTest, ATurnFarSlowerThanMostIsDisturbedWhateverTheMachineSays) {
  const auto of =
      Compare("eager", Of({20, 20, 400, 21, 20, 20, 20}), Of({10, 10, 10, 10, 10, 10, 10}), Dispatch::kCounted, 0);
  EXPECT_EQ(of.speedup, 2);
  EXPECT_EQ(of.rounds, 6);
  // One lucky turn does not make all others slow.
  EXPECT_EQ(Of({5, 10, 10, 10, 10}).calm(), 5);
  EXPECT_EQ(Of({10, 20, 40, 80}).Disturbance(), "its rounds took 10 us to 80 us");
}

// Turns of different length: who is slow has few samples.
Turns Sampled(const std::vector<std::vector<double>>& samples_us) {
  Turns turns;
  int round = 0;
  for (const auto& one : samples_us) turns.Add(round++, {.warm_us = one});
  return turns;
}

// PyTorch stalled for 15 ms in most turns of one call each, and a headline of 389x stood beside "120 us".
TEST(RoundsTest, WhatStallsInMostTurnsHasNoRatio) {
  const Turns stalled = Sampled({{118, 119, 120, 118, 120, 119, 120}, {15827}, {16301}, {15781}, {15711}, {16212}});
  const Turns candidate = Of({40, 41, 40, 40, 41, 40});
  EXPECT_EQ(stalled.calm(), 1);
  EXPECT_FALSE(stalled.CalmEnough()) << "more rounds are asked for";
  const auto of = Compare("compile", stalled, candidate, Dispatch::kCounted, 0);
  EXPECT_FALSE(of.speedup);
  EXPECT_EQ(of.disturbed, "compile: its rounds took 119 us to 1.63e+04 us");
}

TEST(RoundsTest, TheUndisturbedTurnsOfWhatStallsCount) {
  const Turns stalled = Sampled({{120, 121, 119}, {15827}, {16301}, {15781}, {118, 120}, {16212}, {121, 122}, {15790}});
  const auto of = Compare("compile", stalled, Of({40, 40, 40, 40, 40, 40, 40, 40}), Dispatch::kCounted, 0);
  EXPECT_EQ(of.disturbed, "");
  EXPECT_EQ(of.speedup, 3);
  EXPECT_EQ(of.rounds, 3);
  EXPECT_EQ(of.baseline_warm.median_us, 120);
}

TEST(RoundsTest, ARatioThatTheMediansContradictIsNotSaid) {
  // Each turn within twice the fastest; the long ones have nearly all calls.
  const Turns baseline = Sampled({{30}, {30}, {20, 20, 20, 20, 20, 20, 20, 20, 20}, {30}, {30}});
  const Turns turns = Of({10, 10, 10, 10, 10});
  EXPECT_EQ(Compare("eager", baseline, turns, Dispatch::kCounted, 0).disturbed,
            "round by round the ratio is 3, and 2 of the medians of all calls");
  EXPECT_FALSE(Compare("eager", baseline, turns, Dispatch::kCounted, 0).speedup);
}

// 413 us in the search and 58.9 ms in the confirmation: a headline of 519x stood on it.
TEST(RoundsTest, ABaselineIsHeldAgainstItsEarlierFigures) {
  const Turns slow = Of({58900, 58000, 59500, 58900, 58800, 59000}), candidate = Of({113, 113, 113, 113, 113, 113});
  const auto of = Compare("eager", slow, candidate, Dispatch::kCounted, 413);
  EXPECT_FALSE(of.speedup);
  EXPECT_EQ(of.disturbed, "eager: it took 5.89e+04 us, and 413 us earlier");
  EXPECT_TRUE(Compare("eager", slow, candidate, Dispatch::kCounted, 0).speedup);
  EXPECT_TRUE(Compare("eager", slow, candidate, Dispatch::kCounted, 50000).speedup);
}

TEST(RoundsTest, ABaselineIsHeldAgainstItsOwnPercentiles) {
  Turns torn, candidate = Of({113, 113, 113});
  for (int round = 0; round < 3; ++round) torn.Add(round, {.warm_us = {429, 430, 58900, 58900, 59000}});
  const auto of = Compare("eager", torn, candidate, Dispatch::kCounted, 0);
  EXPECT_FALSE(of.speedup);
  EXPECT_EQ(of.disturbed, "eager: half of its calls took more than 5.89e+04 us, a tenth less than 429 us");
}

TEST(RoundsTest, ADisturbedCandidateHasNoRatioToAnything) {
  const Turns candidate = Of({10, 20, 40, 80}), baseline = Of({20, 20, 20, 20});
  EXPECT_EQ(Compare("eager", baseline, candidate, Dispatch::kCounted, 0).disturbed, "its rounds took 10 us to 80 us");
  const auto known = CompareKnown("eager", {.warm = {.median_us = 20, .count = 9}}, candidate, Dispatch::kCounted);
  EXPECT_FALSE(known.speedup);
  EXPECT_EQ(known.disturbed, "its rounds took 10 us to 80 us");
}

TEST(RoundsTest, TheRatioIsOverTheTimesWhoseDispatchIsHiddenAsTheCandidatesIs) {
  Turns baseline;
  for (int round = 0; round < 6; ++round) baseline.Add(round, {.warm_us = {20}, .dispatched_us = {35}});
  const Turns candidate = Of({10, 10, 10, 10, 10, 10});
  const auto hidden = Compare("eager", baseline, candidate, Dispatch::kHidden, 0);
  const auto counted = Compare("eager", baseline, candidate, Dispatch::kCounted, 0);
  EXPECT_EQ(hidden.speedup, 2);
  EXPECT_EQ(hidden.baseline_warm.median_us, 20);
  EXPECT_EQ(counted.speedup, 3.5);
  EXPECT_EQ(counted.baseline_warm.median_us, 35);
  for (const auto& of : {hidden, counted}) {
    EXPECT_EQ(of.baseline_hidden->median_us, 20);
    EXPECT_EQ(of.baseline_dispatched->median_us, 35);
  }
  const KnownBaseline known{.warm = {.median_us = 20}, .dispatched = Samples{.median_us = 35}, .measured_on = "today"};
  EXPECT_EQ(CompareKnown("eager", known, candidate, Dispatch::kHidden).speedup, 2);
  EXPECT_EQ(CompareKnown("eager", known, candidate, Dispatch::kCounted).speedup, 3.5);
}

}  // namespace
}  // namespace hone
