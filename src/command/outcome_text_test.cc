#include "command/outcome_text.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace hone
