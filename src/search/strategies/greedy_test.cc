#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "search/search.h"

namespace hone {
namespace {

Proposal Predicted(const std::string& text, double predicted_us) {
  return {.candidate = {.kind = CandidateKind::kProgram, .text = text}, .key = text, .predicted_us = predicted_us};
}

class GreedyTest : public ::testing::Test {
 protected:
  GreedyTest() {
    const auto row = FindStrategy("greedy");
    strategy_ = (*row)->make();
  }

  // The next attempt is the first proposal that waits at `parent`; 0 us = refused.
  void Try(int parent, double time_us) {
    ASSERT_FALSE(tree_.node(parent).waiting.empty());
    Attempt attempt{.number = tree_.attempts() + 1, .parent = parent};
    attempt.proposal = tree_.node(parent).waiting.front().proposal;
    attempt.evaluation.verdict.outcome = time_us > 0 ? Outcome::kAccepted : Outcome::kWrongResult;
    if (time_us > 0) attempt.evaluation.timing = Timing{.warm = {.median_us = time_us}};
    tree_.AddAttempt(std::move(attempt));
  }
  // Two cuts, the first of which is faster and has nothing more to propose.
  void TwoCuts(double slower_us) {
    tree_.AddProposals(0, {Predicted("fused", 90), Predicted("apart", 95)});
    Try(0, 100);
    Try(0, slower_us);
    tree_.AddProposals(1, {});
  }
  std::optional<int> Selected() { return strategy_->SelectNode(tree_, random_); }

  Tree tree_;
  Random random_{1};
  std::unique_ptr<Strategy> strategy_;
};

TEST_F(GreedyTest, TheFastestIsImprovedRoundByRoundUntilItHasNothingMore) {
  tree_.AddProposals(0, {Predicted("start", 90)});
  EXPECT_EQ(Selected(), 0);
  Try(0, 100);
  EXPECT_EQ(Selected(), 1);
  tree_.AddProposals(1, {Predicted("slow move", 300)});  // also what is predicted to be slow: it may be wrong
  EXPECT_EQ(Selected(), 1);
  Try(1, 120);
  EXPECT_EQ(Selected(), 1);  // for the next round
  tree_.AddProposals(1, {});
  EXPECT_EQ(Selected(), 2);  // is asked once, since 20 % are within reach
  tree_.AddProposals(2, {Predicted("slower move", 110)});
  EXPECT_EQ(Selected(), std::nullopt);
  EXPECT_EQ(strategy_->Ending(tree_), "every move from the best was tried, and nothing else is predicted to beat it");
}

TEST_F(GreedyTest, AWorseCutGetsTheMovesThatArePredictedToBeatTheBest) {
  TwoCuts(130);
  EXPECT_EQ(Selected(), 2);
  tree_.AddProposals(2, {Predicted("tile", 99), Predicted("unroll", 101)});
  EXPECT_EQ(Selected(), 2);
  Try(2, 125);
  tree_.AddProposals(3, {});
  EXPECT_EQ(Selected(), std::nullopt);  // 101 us are none
}

TEST_F(GreedyTest, ACutFarSlowerThanTheBestIsLeftAlone) {
  TwoCuts(150);
  EXPECT_EQ(Selected(), std::nullopt);
}

TEST_F(GreedyTest, AMoveWithoutAPredictionIsTriedWithinReach) {
  TwoCuts(130);
  tree_.AddProposals(2, {Predicted("an agent's idea", 0)});
  EXPECT_EQ(Selected(), 2);
}

TEST_F(GreedyTest, ARefusedAttemptMayBeRepairedAtTheEnd) {
  tree_.AddProposals(0, {Predicted("fused", 90), Predicted("apart", 95)});
  Try(0, 0);
  Try(0, 100);
  EXPECT_EQ(Selected(), 2);
  tree_.AddProposals(2, {});
  EXPECT_EQ(Selected(), 1);
  tree_.AddProposals(1, {});
  EXPECT_EQ(Selected(), std::nullopt);
}

TEST_F(GreedyTest, NothingAcceptedIsNothingLeft) {
  tree_.AddProposals(0, {Predicted("fused", 90)});
  Try(0, 0);
  tree_.AddProposals(1, {});
  EXPECT_EQ(Selected(), std::nullopt);
  EXPECT_EQ(strategy_->Ending(tree_), "nothing is left to try");
}

}  // namespace
}  // namespace hone
