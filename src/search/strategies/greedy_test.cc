#include "search/testing/strategy_test.h"

namespace hone {
namespace {

using testing::Predicted;

class GreedyTest : public testing::StrategyTest {
 protected:
  GreedyTest() : StrategyTest("greedy") {}

  // Two cuts, the first of which is faster and has nothing more to propose.
  void TwoCuts(double slower_us) {
    Propose(0, {Predicted("fused", 90), Predicted("apart", 95)});
    Try(0, 100);
    Try(0, slower_us);
    Propose(1, {});
  }
};

TEST_F(GreedyTest, TheFastestIsImprovedRoundByRoundUntilItHasNothingMore) {
  Propose(0, {Predicted("start", 90)});
  EXPECT_EQ(Selected(), 0);
  Try(0, 100);
  EXPECT_EQ(Selected(), 1);
  Propose(1, {Predicted("slow move", 300)});  // also what is predicted to be slow: it may be wrong
  EXPECT_EQ(Selected(), 1);
  Try(1, 120);
  EXPECT_EQ(Selected(), 1);  // for the next round
  Propose(1, {});
  EXPECT_EQ(Selected(), 2);  // is asked once, since 20 % are within reach
  Propose(2, {Predicted("slower move", 110)});
  EXPECT_EQ(Selected(), std::nullopt);
  EXPECT_EQ(strategy_->Ending(tree_), "every move from the best was tried, and nothing else is predicted to beat it");
}

TEST_F(GreedyTest, AWorseCutGetsTheMovesThatArePredictedToBeatTheBest) {
  TwoCuts(130);
  EXPECT_EQ(Selected(), 2);
  Propose(2, {Predicted("tile", 99), Predicted("unroll", 101)});
  EXPECT_EQ(Selected(), 2);
  Try(2, 125);
  Propose(3, {});
  EXPECT_EQ(Selected(), std::nullopt);  // 101 us are none
}

TEST_F(GreedyTest, ACutFarSlowerThanTheBestIsLeftAlone) {
  TwoCuts(150);
  EXPECT_EQ(Selected(), std::nullopt);
}

TEST_F(GreedyTest, AMoveWithoutAPredictionIsTriedWithinReach) {
  TwoCuts(130);
  Propose(2, {Predicted("an agent's idea", 0)});
  EXPECT_EQ(Selected(), 2);
}

TEST_F(GreedyTest, ARefusedAttemptMayBeRepairedAtTheEnd) {
  Propose(0, {Predicted("fused", 90), Predicted("apart", 95)});
  Try(0, 0);
  Try(0, 100);
  EXPECT_EQ(Selected(), 2);
  Propose(2, {});
  EXPECT_EQ(Selected(), 1);
  Propose(1, {});
  EXPECT_EQ(Selected(), std::nullopt);
}

TEST_F(GreedyTest, WhileTheProposerThinksAboutTheBestTheNextBestIsTried) {
  Propose(0, {Predicted("fused", 90), Predicted("apart", 95), Predicted("slow", 200)});
  Try(0, 100);
  Try(0, 110);
  EXPECT_EQ(Selected(), 1);
  tree_.Ask(1);
  EXPECT_EQ(Selected(), std::nullopt);  // one question at a time, and what waits is slow
  Propose(1, {Predicted("tile", 99)});
  EXPECT_EQ(Selected(), 1);
}

TEST_F(GreedyTest, NothingAcceptedIsNothingLeft) {
  Propose(0, {Predicted("fused", 90)});
  Try(0, 0);
  EXPECT_EQ(Selected(), 0);  // for another beginning
  Propose(0, {});
  EXPECT_EQ(Selected(), 1);
  Propose(1, {});
  EXPECT_EQ(Selected(), std::nullopt);
  EXPECT_EQ(strategy_->Ending(tree_), "nothing is left to try");
}

}  // namespace
}  // namespace hone
