#include "search/candidate_index.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "propose/random.h"

namespace hone {
namespace {

TEST(CandidateIndexTest, IsWhatAMultimapAndASetAre) {
  Random random(5);
  CandidateIndex index;
  std::multimap<std::uint64_t, int> waits;
  std::set<std::uint64_t> tried;
  for (int step = 0; step < 20000; ++step) {
    // Few homes and several keys at each, so that runs of slots are long and go around the end.
    const std::uint64_t low = random.Below(3000);
    const CandidateKey key{.high = low % 1000 + ~std::uint64_t{500}, .low = low};
    ASSERT_EQ(index.Tried(key), tried.contains(low));
    if (random.Below(3) != 0) {
      if (tried.contains(low)) continue;
      waits.emplace(low, step);
      index.Wait(key, step);
      continue;
    }
    std::vector<int> expected, waited;
    const auto [first, last] = waits.equal_range(low);
    for (auto one = first; one != last; ++one) expected.push_back(one->second);
    index.Take(key, [&](int node) { waited.push_back(node); });
    ASSERT_EQ(waited, expected);
    waits.erase(first, last);
    tried.insert(low);
  }
}

}  // namespace
}  // namespace hone
