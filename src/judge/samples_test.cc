#include "judge/samples.h"

#include <gtest/gtest.h>

#include <random>

namespace hone {
namespace {

TEST(SamplesTest, TheMedianIsTheMiddle) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(Median({}), 0);
}

TEST(SamplesTest, FewerThanSixValuesHaveNoInterval) {
  EXPECT_FALSE(MedianInterval({}));
  EXPECT_FALSE(MedianInterval({7}));
  EXPECT_FALSE(MedianInterval({5, 1, 3, 2, 4}));
  EXPECT_FALSE(Summarize({5, 1, 3, 2, 4}).interval);
  const auto interval = MedianInterval({5, 1, 3, 6, 2, 4});
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->low, 1);
  EXPECT_EQ(interval->high, 6);
}

TEST(SamplesTest, TheIntervalOfTenLeavesOutOneAtEachEnd) {
  // The textbook's ranks for n = 10: 2 and 9, coverage 97.9 %.
  const auto interval = MedianInterval({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->low, 2);
  EXPECT_EQ(interval->high, 9);
}

TEST(SamplesTest, TheIntervalCoversTheTrueMedianAboutAsOftenAsItSays) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> draw(0, 1);  // median 1
  for (const int n : {12, 50, 400}) {
    int covered = 0;
    for (int trial = 0; trial < 1000; ++trial) {
      std::vector<double> values;
      for (int i = 0; i < n; ++i) values.push_back(draw(random));
      const auto interval = MedianInterval(values);
      covered += interval->low <= 1 && 1 <= interval->high;
    }
    EXPECT_GE(covered, 935) << n;
    EXPECT_LE(covered, 990) << n;
  }
}

}  // namespace
}  // namespace hone
