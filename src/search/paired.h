// What can be said of differences that come in pairs, one a problem: how large they are on average, how sure that is,
// and whether they could be chance. No state; safe from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "verdict/verdict.h"

namespace hone {

// The probability of ranks at least as uneven as these if each difference were as likely to have the other sign:
// Wilcoxon's signed-rank test, two-sided. Zeros are left out, equal ones share their ranks, and the distribution is
// counted out, not approximated. 1 where nothing differs.
double WilcoxonSignedRank(const std::vector<double>& differences);

// Where the mean lies with 95 % confidence: percentiles of the means of 10,000 resamples (bootstrap), drawn by the
// seed. {0, 0} of none.
Interval BootstrapMean(const std::vector<double>& values, std::uint64_t seed = 1);

struct Paired {
  double mean = 0;
  Interval interval;  // BootstrapMean
  double chance = 1;  // WilcoxonSignedRank
  int above = 0, below = 0, equal = 0;
};
// Differences within `equal` of 0 count as equal, in the counts alone.
Paired DescribePairs(const std::vector<double>& differences, double equal);

}  // namespace hone
