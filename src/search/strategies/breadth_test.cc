#include "search/testing/strategy_test.h"

namespace hone {
namespace {

using testing::Predicted;

class BreadthTest : public testing::StrategyTest {
 protected:
  explicit BreadthTest(std::string_view words = "breadth") : StrategyTest(words) {}

  // Two attempts, the later of which is faster; both have a move that waits.
  void TwoStarts() {
    Propose(0, {Predicted("slow", 0), Predicted("fast", 0)});
    Try(0, 100);
    EXPECT_EQ(Selected(), 1) << "is asked before anything else is tried";
    Propose(1, {Predicted("of slow", 0)});
    EXPECT_EQ(Selected(), 0);
    Try(0, 50);
    Propose(0, {});
    EXPECT_EQ(Selected(), 2);
    Propose(2, {Predicted("of fast", 0)});
  }
};

TEST_F(BreadthTest, WhatWasTriedFirstIsWorkedThroughFirst) {
  TwoStarts();
  EXPECT_EQ(Selected(), 1);
  Try(1, 0);
  EXPECT_EQ(Selected(), 1) << "the proposer may have more for it";
  Propose(1, {});
  Propose(3, {});
  EXPECT_EQ(Selected(), 2);
  Try(2, 40);
  Propose(2, {});
  Propose(4, {});
  EXPECT_EQ(Selected(), std::nullopt);
  EXPECT_EQ(strategy_->Ending(tree_), "all that was proposed was tried");
}

class DeepTest : public BreadthTest {
 protected:
  DeepTest() : BreadthTest("breadth:1") {}
};

TEST_F(DeepTest, TheFastestComesFirstWhereThatIsAsked) {
  Propose(0, {Predicted("slow", 0), Predicted("fast", 0)});
  Try(0, 100);
  Try(0, 50);
  Propose(0, {});
  Propose(1, {Predicted("of slow", 0)});
  EXPECT_EQ(Selected(), 2) << "asking comes first";
  Propose(2, {Predicted("of fast", 0)});
  EXPECT_EQ(Selected(), 2);
  Try(2, 0);
  Propose(2, {});
  Propose(3, {});
  EXPECT_EQ(Selected(), 1);
}

}  // namespace
}  // namespace hone
