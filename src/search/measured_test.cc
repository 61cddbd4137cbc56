#include "search/measured.h"

#include <gtest/gtest.h>

#include "base/testing/must.h"
#include "search/bench.h"
#include "search/testing/scripted_evaluator.h"

namespace hone {
namespace {

using testing::Must;

const Budget kThirty{.attempts = 30, .seconds = 0, .headroom = -1};

TEST(MeasuredTest, WhatOneSearchMeasuredIsNotMeasuredForAnother) {
  testing::ScriptedEvaluator world(7);
  SpaceTable table;
  MeasuredOnce device(world, table, [] { return 0.0; });
  const auto signature = [&](const std::string& strategy, std::uint64_t seed) {
    device.SetSeed(seed);
    Store store = Must(Store::Open(":memory:"));
    return Must(RunScriptedSearch(store, strategy, seed, kThirty, device)).tree.Signature();
  };
  const std::string first = signature("greedy", 1);
  const int measured = world.evaluations;
  ASSERT_GT(measured, 10);
  EXPECT_EQ(static_cast<int>(table.candidates.size()), measured);
  EXPECT_EQ(signature("greedy", 1), first) << "all was known, and is what it was";
  EXPECT_EQ(world.evaluations, measured);
  signature("breadth", 1);
  EXPECT_GT(world.evaluations, measured);
  EXPECT_EQ(static_cast<int>(table.candidates.size()), world.evaluations);
}

TEST(MeasuredTest, ATimeIsDrawnBySeedAndWhatCameOfACandidateStays) {
  testing::ScriptedEvaluator world(7);
  SpaceTable table;
  table.candidates = {{.name = TableName({CandidateKind::kProgram, "known"}),
                       .outcome = Outcome::kAccepted,
                       .warm_us = 10,
                       .interval = Interval{9, 12},
                       .seconds = 2},
                      {.name = TableName({CandidateKind::kProgram, "bad"}),
                       .outcome = Outcome::kWrongResult,
                       .reason = "y is wrong",
                       .seconds = 1}};
  MeasuredOnce device(world, table, [] { return 100.0; });
  const auto us = [&](std::uint64_t seed) {
    device.SetSeed(seed);
    return Must(device.Evaluate({CandidateKind::kProgram, "known"}, {})).timing->warm.median_us;
  };
  EXPECT_NE(us(1), us(2));
  EXPECT_EQ(us(1), us(1));
  const Evaluation bad = Must(device.Evaluate({CandidateKind::kProgram, "bad"}, {}));
  EXPECT_EQ(bad.verdict.reason, "y is wrong");
  EXPECT_FALSE(bad.timing);
  EXPECT_EQ(world.evaluations, 0);
  EXPECT_DOUBLE_EQ(device.Seconds(), 109) << "four times two seconds, and one";
}

}  // namespace
}  // namespace hone
