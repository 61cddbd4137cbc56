#include "search/ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "propose/random.h"

namespace hone {
namespace {

TEST(RankingTest, IsWhatASortedVectorIsWithTheEarlierOfEqualOnesFirst) {
  Random random(3);
  std::vector<std::size_t> values;
  std::vector<int> sorted;
  Ranking ranking;
  const auto less = [&](int a, int b) {
    return values[static_cast<std::size_t>(a)] < values[static_cast<std::size_t>(b)];
  };
  EXPECT_TRUE(ranking.empty());
  EXPECT_TRUE(ranking.begin() == ranking.end());
  for (int number = 0; number < 5000; ++number) {
    values.push_back(random.Below(700));
    ranking.Insert(number, less);
    sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), number, less), number);
    ASSERT_EQ(ranking.front(), sorted.front());
  }
  ASSERT_EQ(ranking.size(), sorted.size());
  EXPECT_EQ(std::vector<int>(ranking.begin(), ranking.end()), sorted);
  EXPECT_EQ(ranking[1234], sorted[1234]);
}

}  // namespace
}  // namespace hone
