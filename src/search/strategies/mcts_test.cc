#include <set>

#include "search/testing/strategy_test.h"

namespace hone {
namespace {

using testing::Predicted;
using testing::Several;

// What is switched on is what is tested; each attempt is backed up.
class MctsTest : public testing::StrategyTest {
 protected:
  explicit MctsTest(const std::string& parts) : StrategyTest("mcts:" + parts) {}
  void Try(int parent, double time_us) { Finish(Begin(parent), time_us); }
  void Finish(Attempt attempt, double time_us) {
    End(std::move(attempt), time_us);
    strategy_->BackUp(tree_);
  }
  // So many starts, and moves of each.
  void Starts(const std::vector<double>& times) {
    Propose(0, Several("start", 9));
    for (const double us : times) Try(0, us);
    for (int number = 1; number <= tree_.attempts(); ++number)
      Propose(number, Several("of " + std::to_string(number) + " ", 9));
  }
};

class PlainTest : public MctsTest {
 protected:
  PlainTest() : MctsTest("explore=0.2,best=0,widening=0.5,branching=0,log=1,dead=0,memory=0") {}
};

TEST_F(PlainTest, ANodeGetsAnotherChildWhenItHasSeenEnough) {
  Propose(0, Several("start", 9));
  EXPECT_EQ(Selected(), 0);
  Try(0, 100);
  EXPECT_EQ(Selected(), 1) << "one attempt, one child";
  Propose(1, Several("move", 9));
  Try(1, 100);
  EXPECT_EQ(Selected(), 0) << "the root of two attempts may have two";
  Try(0, 100);
  EXPECT_EQ(Selected(), 3) << "they are equal, and it is the one that was tried less";
  Propose(3, {});
  EXPECT_EQ(Selected(), 1) << "the branch with two attempts may have a second child";
}

TEST_F(PlainTest, TheFasterBranchIsFollowed) {
  Starts({200, 100});
  EXPECT_EQ(Selected(), 2);
  Try(2, 95);
  Try(0, 150);
  Propose(3, Several("deep", 9));
  EXPECT_EQ(Selected(), 2) << "of three attempts, two children";
}

TEST_F(PlainTest, WhatIsInFlightSendsTheNextElsewhere) {
  Starts({100, 105});
  EXPECT_EQ(Selected(), 1);
  const Attempt first = Begin(1);
  EXPECT_EQ(Selected(), 2) << "worth nothing until it has ended";
  Finish(first, 99);
  EXPECT_EQ(Selected(), 1);
}

TEST_F(PlainTest, ABranchWithoutAnythingToTryIsLeft) {
  Propose(0, Several("start", 2));
  Try(0, 100);
  Try(0, 400);
  Propose(0, {});
  Propose(1, {});
  EXPECT_EQ(Selected(), 2);
  Propose(2, Several("move", 1));
  Try(2, 300);
  Propose(2, {});
  Propose(3, {});
  EXPECT_EQ(Selected(), std::nullopt);
}

class UnwidenedTest : public MctsTest {
 protected:
  UnwidenedTest() : MctsTest("widening=1,branching=0,dead=0,memory=0") {}
};

TEST_F(UnwidenedTest, WithoutWideningTheRootIsWorkedThroughFirst) {
  Propose(0, Several("start", 4));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Selected(), 0);
    Try(0, 100);
  }
  Propose(0, {});
  EXPECT_NE(Selected(), 0);
}

class BranchingTest : public MctsTest {
 protected:
  BranchingTest() : MctsTest("explore=0,best=1,widening=0,branching=1,log=1,dead=0,memory=0") {}
};

TEST_F(BranchingTest, ThoseThatMadeItFasterGetMoreChildren) {
  Propose(0, Several("start", 1));
  Try(0, 100);
  Propose(0, {});
  Propose(1, Several("move", 3));
  Try(1, 80);
  Propose(2, Several("deeper", 5));
  EXPECT_EQ(Selected(), 2);
  Try(2, 90);
  Propose(3, Several("slower", 5));
  EXPECT_EQ(Selected(), 2) << "it was faster than its parent: two children";
  Try(2, 0);
  EXPECT_EQ(Selected(), 3) << "any may have one";
}

class DeadTest : public MctsTest {
 protected:
  DeadTest() : MctsTest("explore=100,best=0,widening=0,branching=0,log=1,dead=3,memory=0") {}
};

TEST_F(DeadTest, ABranchFarBehindIsLeftUntilNothingElseIs) {
  Starts({100, 300});
  Try(2, 290);
  Propose(3, Several("slow", 2));
  EXPECT_EQ(Selected(), 1) << "hardly tried";
  Try(1, 100);
  Propose(4, {});
  Try(1, 100);
  Propose(5, {});
  Try(1, 100);
  Propose(6, {});
  EXPECT_EQ(Selected(), 3) << "two attempts are no proof";
  Try(3, 280);
  Propose(7, Several("slower", 2));
  EXPECT_EQ(Selected(), 1) << "not 7: all three are far behind";
}

class MemoryTest : public MctsTest {
 protected:
  MemoryTest() : MctsTest("memory=2,dead=0") {}
  static Proposal Move(const std::string& key, const std::string& text) {
    Proposal proposal = Predicted(text, 0);
    proposal.key = key;
    return proposal;
  }
};

TEST_F(MemoryTest, AMoveThatNeverBroughtAnythingComesLast) {
  Propose(0, Several("start", 3));
  for (int i = 0; i < 3; ++i) Try(0, 100);
  for (const int number : {1, 2, 3}) {
    const std::string text = std::to_string(number);
    Propose(number, {Move("unroll=4", "u" + text), Move("tile=8", "t" + text)});
  }
  EXPECT_EQ(strategy_->SelectProposal(tree_.node(3), random_), 0u);
  Try(1, 120);
  EXPECT_EQ(strategy_->SelectProposal(tree_.node(3), random_), 0u) << "once is chance";
  Try(2, 100);
  EXPECT_EQ(strategy_->SelectProposal(tree_.node(3), random_), 1u);
  Try(1, 90);
  Try(2, 110);
  EXPECT_EQ(strategy_->SelectProposal(tree_.node(3), random_), 1u) << "it brought something once";
}

class LinearTest : public MctsTest {
 protected:
  explicit LinearTest(const std::string& log = "0")
      : MctsTest("explore=0.6,best=0,widening=0.5,branching=0,dead=0,memory=0,log=" + log) {}
  // One leap among three starts, and two attempts on it.
  void Leap() {
    Starts({400, 380, 100});
    Try(3, 100);
    Try(3, 100);
    Propose(4, Several("a", 9));
    Propose(5, Several("b", 9));
  }
};
class LogTest : public LinearTest {
 protected:
  LogTest() : LinearTest("1") {}
};

TEST_F(LinearTest, ALeapRulesBySpeedMoreOrLessAsMuchAsItIs) {
  Leap();
  // 1/400 and 1/380 of speed 1/100: 0.25 and 0.26 apart from how seldom they were tried.
  EXPECT_NE(Selected(), 1);
}

TEST_F(LogTest, TheSlowAreToldApartByTheirRatio) {
  Leap();
  // 0 and 0.04: the second start comes before the first.
  EXPECT_NE(Selected(), 1);
}

}  // namespace
}  // namespace hone
