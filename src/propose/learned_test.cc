#include "propose/learned.h"

#include <gtest/gtest.h>

#include "base/testing/must.h"
#include "propose/proposer.h"

namespace hone {
namespace {

using testing::Must;

Attempt Timed(double us) {
  Attempt attempt;
  attempt.evaluation.verdict.outcome = us > 0 ? Outcome::kAccepted : Outcome::kWrongResult;
  if (us > 0) attempt.evaluation.timing = Timing{.warm = {.median_us = us}};
  return attempt;
}

TEST(LearnedTest, FewMovesChangeLittleAndManyDecide) {
  EXPECT_EQ(Kept().Factor(), 1);
  Kept nothing;
  double last = 1;
  for (int i = 0; i < 100; ++i) {
    nothing.Add(0.5, 0);
    EXPECT_LE(nothing.Factor(), last);
    last = nothing.Factor();
    if (i == 0) {
      EXPECT_NEAR(last, 0.8, 1e-12);
    }
    if (i == 3) {
      EXPECT_NEAR(last, 0.5, 1e-12);
    }
  }
  EXPECT_GT(last, 0);
  EXPECT_LT(last, 0.05);
  Kept half;
  for (int i = 0; i < 1000; ++i) half.Add(0.4, 0.2);
  EXPECT_NEAR(half.Factor(), 0.5, 0.01);
  Kept more;
  for (int i = 0; i < 1000; ++i) more.Add(0.1, 0.3);
  EXPECT_NEAR(more.Factor(), 3, 0.05);
}

TEST(LearnedTest, AMoveThatMadeItSlowerBroughtNothing) {
  Kept slower, nothing;
  slower.Add(0.5, -3);
  nothing.Add(0.5, 0);
  EXPECT_EQ(slower.Factor(), nothing.Factor());
}

TEST(LearnedTest, WhatAMoveBroughtIsAShareOfTheTimeBefore) {
  EXPECT_DOUBLE_EQ(Brought(Timed(6), Timed(8)), 0.25);
  EXPECT_DOUBLE_EQ(Brought(Timed(16), Timed(8)), -1);
  EXPECT_EQ(Brought(Timed(0), Timed(8)), 0) << "it was refused";
  EXPECT_EQ(Brought(Timed(6), Timed(0)), 0) << "there was nothing to be faster than";
}

TEST(LearnedTest, ItReadsBackAndWhatIsNotOursIsRefused) {
  Learned learned;
  learned["wave_tail"].Add(0.5, 0.125);
  learned["wave_tail"].Add(0.25, 0.5);
  const Learned read = Must(ParseLearned(ToJson(learned)));
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read.at("wave_tail").moved, 2);
  EXPECT_EQ(read.at("wave_tail").promised, 0.75);
  EXPECT_EQ(read.at("wave_tail").brought, 0.625);
  EXPECT_EQ(FactorOf(read, "wave_tail"), learned["wave_tail"].Factor());
  EXPECT_EQ(FactorOf(read, "spills"), 1);
  EXPECT_TRUE(Must(ParseLearned("{}")).empty());
  EXPECT_FALSE(ParseLearned("no json"));
  EXPECT_FALSE(ParseLearned(R"({"wave_tail": 3})"));
}

}  // namespace
}  // namespace hone
