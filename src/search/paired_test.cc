#include "search/paired.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(PairedTest, WilcoxonsTestIsThatOfTheTables) {
  EXPECT_DOUBLE_EQ(WilcoxonSignedRank({1, 2, 3, 4, 5}), 2.0 / 32);
  EXPECT_DOUBLE_EQ(WilcoxonSignedRank({-1, -2, -3, -4, -5, -6}), 2.0 / 64);
  // Of 2^6 choices of signs 7 have positive ranks that sum to 4 or less.
  EXPECT_DOUBLE_EQ(WilcoxonSignedRank({-1, 2, -3, 4, 5, 6}), 2 * 7.0 / 64);
  // Hollander and Wolfe's depression scores (1973): V = 40 of 45.
  const std::vector<double> depression = {1.83 - 0.878, 0.50 - 0.647, 1.62 - 0.598, 2.48 - 2.05, 1.68 - 1.06,
                                          1.88 - 1.29,  1.55 - 1.06,  3.06 - 3.14,  1.30 - 1.29};
  EXPECT_NEAR(WilcoxonSignedRank(depression), 0.0390625, 1e-12);
}

TEST(PairedTest, EqualSizesShareTheirRanksAndZerosAreLeftOut) {
  EXPECT_EQ(WilcoxonSignedRank({}), 1);
  EXPECT_EQ(WilcoxonSignedRank({0, 0}), 1);
  EXPECT_EQ(WilcoxonSignedRank({1, -1}), 1);
  EXPECT_DOUBLE_EQ(WilcoxonSignedRank({2, 2, 2, 2, 2, 0, 0}), 2.0 / 32);
  // Ranks 1.5, 1.5, 3: sums of 1.5 or less are had by 3 choices of 8.
  EXPECT_DOUBLE_EQ(WilcoxonSignedRank({1, -1, 2}), 2 * 3.0 / 8);
}

TEST(PairedTest, ManyPairsAreCountedOutToo) {
  std::vector<double> up(250);
  for (std::size_t i = 0; i < up.size(); ++i) up[i] = (i % 4 == 0 ? -1.0 : 1.0) * static_cast<double>(i + 1);
  EXPECT_LT(WilcoxonSignedRank(up), 1e-11);
  for (std::size_t i = 0; i < up.size(); ++i) up[i] = (i % 2 == 0 ? -1.0 : 1.0) * static_cast<double>(i + 1);
  EXPECT_GT(WilcoxonSignedRank(up), 0.9);
}

TEST(PairedTest, TheBootstrapsIntervalIsThatOfTheMean) {
  EXPECT_EQ(BootstrapMean({}).low, 0);
  EXPECT_EQ(BootstrapMean({3, 3, 3}).low, 3);
  EXPECT_EQ(BootstrapMean({3, 3, 3}).high, 3);
  std::vector<double> values;  // of mean 49.5 and standard error 2.887
  for (int i = 0; i < 100; ++i) values.push_back(i);
  const Interval interval = BootstrapMean(values);
  EXPECT_NEAR(interval.low, 49.5 - 1.96 * 2.887, 0.5);
  EXPECT_NEAR(interval.high, 49.5 + 1.96 * 2.887, 0.5);
  EXPECT_EQ(interval.low, BootstrapMean(values).low);
  EXPECT_NE(interval.low, BootstrapMean(values, 2).low);
}

TEST(PairedTest, PairsThatHardlyDifferAreEqual) {
  const Paired paired = DescribePairs({0.1, -0.2, 0.001, 0.3}, 0.005);
  EXPECT_EQ(paired.above, 2);
  EXPECT_EQ(paired.below, 1);
  EXPECT_EQ(paired.equal, 1);
  EXPECT_NEAR(paired.mean, 0.05025, 1e-12);
  EXPECT_LE(paired.interval.low, paired.mean);
  EXPECT_GE(paired.interval.high, paired.mean);
}

}  // namespace
}  // namespace hone
