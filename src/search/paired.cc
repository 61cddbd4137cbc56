#include "search/paired.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "propose/random.h"

namespace hone {

double WilcoxonSignedRank(const std::vector<double>& differences) {
  std::vector<double> sizes;  // with their signs
  for (const double one : differences) {
    if (one != 0) sizes.push_back(one);
  }
  std::sort(sizes.begin(), sizes.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  // Ranks that are shared may be halves, so twice the ranks are counted.
  std::vector<std::size_t> ranks;
  std::size_t above = 0, all = 0;
  for (std::size_t i = 0; i < sizes.size();) {
    std::size_t end = i;
    while (end < sizes.size() && std::abs(sizes[end]) == std::abs(sizes[i])) ++end;
    for (std::size_t at = i; at < end; ++at) {
      ranks.push_back(i + 1 + end);
      if (sizes[at] > 0) above += ranks.back();
    }
    i = end;
  }
  for (const std::size_t rank : ranks) all += rank;
  // ways[s]: the share of all choices of signs whose positive ranks add up to s.
  std::vector<double> ways(all + 1, 0);
  ways[0] = 1;
  for (const std::size_t rank : ranks) {
    for (std::size_t sum = all + 1; sum-- > 0;) ways[sum] = (ways[sum] + (sum >= rank ? ways[sum - rank] : 0)) / 2;
  }
  const std::size_t least = std::min(above, all - above);
  double chance = 0;
  for (std::size_t sum = 0; sum <= least; ++sum) chance += ways[sum];
  return std::min(1.0, 2 * chance);
}

Interval BootstrapMean(const std::vector<double>& values, std::uint64_t seed) {
  if (values.empty()) return {};
  constexpr std::size_t kResamples = 10'000;
  Random random(seed);
  std::vector<double> means(kResamples);
  for (double& mean : means) {
    for (std::size_t i = 0; i < values.size(); ++i) mean += values[random.Below(values.size())];
    mean /= static_cast<double>(values.size());
  }
  std::sort(means.begin(), means.end());
  return {means[kResamples * 25 / 1000], means[kResamples * 975 / 1000 - 1]};
}

Paired DescribePairs(const std::vector<double>& differences, double equal) {
  Paired paired;
  for (const double one : differences) {
    paired.mean += one / static_cast<double>(differences.size());
    ++(one > equal ? paired.above : one < -equal ? paired.below : paired.equal);
  }
  paired.interval = BootstrapMean(differences);
  paired.chance = WilcoxonSignedRank(differences);
  return paired;
}

}  // namespace hone
