#include "judge/samples.h"

#include <algorithm>
#include <cmath>

namespace hone {
namespace {

double SortedMedian(const std::vector<double>& sorted) {
  const std::size_t n = sorted.size();
  if (n == 0) return 0;
  return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

// The number of values below the median is binomial(n, 1/2): the interval leaves out k values at each end, the largest
// k with P(below <= k - 1) <= 2.5 %.
std::optional<Interval> SortedInterval(const std::vector<double>& sorted) {
  constexpr std::size_t kLeast = 6;  // 1 - 2 / 2^6 is 96.9 %, 1 - 2 / 2^5 only 93.8
  const std::size_t n = sorted.size();
  if (n < kLeast) return std::nullopt;
  std::size_t out = 0;
  if (n > 300) {  // the normal approximation is exact to one rank there
    const auto rank = static_cast<double>(n) / 2 - 0.98 * std::sqrt(static_cast<double>(n));
    out = static_cast<std::size_t>(std::max(0.0, std::floor(rank)));
  } else {
    double term = std::ldexp(1.0, -static_cast<int>(n)), sum = 0;
    for (std::size_t k = 0; k < n / 2; ++k) {
      sum += term;
      if (sum > 0.025) break;
      out = k + 1;
      term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    }
  }
  // Leaving out `out` values at each end keeps ranks out .. n - 1 - out, whose coverage is 1 - 2 P(below < out).
  const std::size_t low = out > 0 ? out - 1 : 0;
  return Interval{sorted[low], sorted[n - 1 - low]};
}

double Quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5)];
}

}  // namespace

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return SortedMedian(values);
}

std::optional<Interval> MedianInterval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return SortedInterval(values);
}

Samples Summarize(const std::vector<double>& microseconds) {
  std::vector<double> sorted = microseconds;
  std::sort(sorted.begin(), sorted.end());
  return {.median_us = SortedMedian(sorted),
          .interval = SortedInterval(sorted),
          .p10_us = Quantile(sorted, 0.1),
          .p90_us = Quantile(sorted, 0.9),
          .count = static_cast<int>(sorted.size())};
}

}  // namespace hone
