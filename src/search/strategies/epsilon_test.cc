#include <map>
#include <set>

#include "search/testing/strategy_test.h"

namespace hone {
namespace {

using testing::Several;

class AlwaysBestTest : public testing::StrategyTest {
 protected:
  AlwaysBestTest() : StrategyTest("epsilon:0,throttle=2,dead=2") {}
};

TEST_F(AlwaysBestTest, TheBestIsImprovedUntilItHasNothingMore) {
  Propose(0, Several("start", 3));
  EXPECT_EQ(Selected(), 0);  // nothing was accepted yet
  Try(0, 100);
  Try(0, 90);
  EXPECT_EQ(Selected(), 2);
  Propose(2, {});
  EXPECT_EQ(Selected(), 1);
  Propose(1, {});
  EXPECT_EQ(Selected(), 0);  // the third start: throttled, but nothing else is left
  Try(0, 0);
  Propose(3, {});
  Propose(0, {});
  EXPECT_EQ(Selected(), std::nullopt);
}

TEST_F(AlwaysBestTest, WhatIsInFlightTakesAPlaceUnderTheRoot) {
  Propose(0, Several("start", 3));
  const Attempt first = Begin(0);
  EXPECT_EQ(Selected(), 0);
  Attempt second = Begin(0);
  second.number = 2;
  End(first, 100);
  EXPECT_EQ(Selected(), 1);
  End(second, 0);
  EXPECT_EQ(Selected(), 1);
}

TEST_F(AlwaysBestTest, ABranchWhoseChildrenAllFailedIsDead) {
  Propose(0, Several("start", 2));
  Try(0, 100);
  Try(0, 120);
  Propose(1, Several("move", 4));
  Try(1, 0);
  EXPECT_EQ(Selected(), 1);
  Try(1, 0);
  EXPECT_EQ(Selected(), 2);
  Propose(2, Several("other", 3));
  Try(2, 130);
  Try(2, 0);
  Try(2, 0);
  EXPECT_EQ(Selected(), 2) << "one child lives";
}

class AlwaysByChanceTest : public testing::StrategyTest {
 protected:
  AlwaysByChanceTest() : StrategyTest("epsilon:1,throttle=3") {}
};

TEST_F(AlwaysByChanceTest, LeavesAndARootThatIsNotThrottledAreEquallyLikely) {
  Propose(0, Several("start", 4));
  Try(0, 100);
  Try(0, 0);
  std::map<int, int> counts;
  for (int i = 0; i < 3000; ++i) ++counts[Selected().value()];
  EXPECT_EQ(counts.size(), 3u);
  for (const int number : {0, 1, 2}) EXPECT_NEAR(counts[number], 1000, 120) << number;
  Propose(1, Several("move", 2));
  Try(1, 110);
  Try(0, 0);
  std::set<int> leaves;
  for (int i = 0; i < 100; ++i) leaves.insert(Selected().value());
  EXPECT_EQ(leaves, (std::set<int>{2, 3, 4})) << "one with a child is no leaf, and three starts are enough";
}

}  // namespace
}  // namespace hone
