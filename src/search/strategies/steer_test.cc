#include "search/testing/strategy_test.h"

namespace hone {
namespace {

using testing::Predicted;

class SteerTest : public testing::StrategyTest {
 protected:
  explicit SteerTest(std::string_view words = "steer:starts=1") : StrategyTest(words) {}

  void End(int parent, const std::string& key, double time_us) {
    Propose(parent, {Predicted(key, 0)});
    StrategyTest::Try(parent, time_us);
    strategy_->BackUp(tree_);
  }
  // From attempt 1, of 100 us: a knob that changes much and helps at times, one that helps a little each time.
  void Learn() {
    End(0, "start", 100);
    End(1, "y.tile=1", 300);
    End(1, "y.tile=2", 250);
    End(1, "y.tile=3", 80);
    End(1, "y.unroll=1", 98);
    End(1, "y.unroll=2", 98);
    End(1, "y.unroll=3", 98);
  }
  std::string Next() {
    Propose(4, {Predicted("y.unroll=9", 0), Predicted("y.tile=9", 0)});
    const TreeNode& node = tree_.node(4);
    return std::string(node.waiting[strategy_->SelectProposal(node, random_)].key());
  }
};

TEST_F(SteerTest, FarFromTheBoundTheBoldMoveComesFirst) {
  tree_.SetBound(10);
  Learn();
  EXPECT_EQ(Next(), "y.tile=9");
}

TEST_F(SteerTest, NearTheBoundTheSureMoveComesFirst) {
  tree_.SetBound(79);
  Learn();
  EXPECT_EQ(Next(), "y.unroll=9");
}

TEST_F(SteerTest, TheFastestIsImprovedAndStartsAreFew) {
  Propose(0, {Predicted("start", 0), Predicted("other", 0)});
  EXPECT_EQ(Selected(), 0);
  Try(0, 100);
  EXPECT_EQ(Selected(), 1);
  Propose(1, {});
  EXPECT_EQ(Selected(), 0) << "nothing else is left";
}

class UnsteeredTest : public SteerTest {
 protected:
  UnsteeredTest() : SteerTest("steer:headroom=0,starts=1") {}
};

TEST_F(UnsteeredTest, SwitchedOffItTakesTheProposersOrder) {
  tree_.SetBound(10);
  Learn();
  EXPECT_EQ(Next(), "y.unroll=9");
}

}  // namespace
}  // namespace hone
