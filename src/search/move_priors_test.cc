#include "search/move_priors.h"

#include <gtest/gtest.h>

#include "search/testing/strategy_test.h"

namespace hone {
namespace {

using testing::Predicted;

Lesson Moved(const std::string& family, const std::string& knob, const std::string& after, double gain) {
  return {.family = family, .knob = knob, .before = "1", .after = after, .dtype = "f32", .size = 20, .gain = gain};
}

Lesson Refused(const std::string& family, const std::string& knob, const std::string& after) {
  Lesson lesson = Moved(family, knob, after, kRefusedGain);
  lesson.refused = true;
  return lesson;
}

TEST(MovePriorsTest, LessonsOfAllFamiliesCountByKnobAndByValue) {
  Experience experience;
  experience.Add(Moved("softmax", "vector", "64", 0.2));
  experience.Add(Moved("softmax", "vector", "32", 0));
  experience.Add(Refused("matmul", "vector", "64"), 0.5);
  experience.Add(Moved("matmul", "tile", "64x128", 0.3));
  experience.Add({.family = std::string(kStart), .knob = "cut", .before = "map", .after = "all", .gain = 1});
  const MovePriors priors(experience);
  EXPECT_EQ(priors.OfKnob("y.vector=7").tried, 2.5);
  EXPECT_EQ(priors.OfKnob("y.vector=7").helped, 1) << "what changed nothing did not help";
  EXPECT_EQ(priors.OfValue("a.b.vector=64").tried, 1.5);
  EXPECT_EQ(priors.OfValue("a.b.vector=64").helped, 1);
  EXPECT_EQ(priors.OfValue("y.vector=7").tried, 0);
  EXPECT_EQ(priors.OfValue("y.tile=64x128").helped, 1);
  EXPECT_EQ(priors.OfKnob("cut all").tried, 0) << "a start is no move";
  EXPECT_EQ(priors.OfKnob("y.vector=7").AtMost(5).tried, 2.5);
  EXPECT_EQ(priors.OfKnob("y.vector=7").AtMost(1).tried, 1);
  EXPECT_DOUBLE_EQ(priors.OfKnob("y.vector=7").AtMost(1).helped, 0.4);
}

// By an experience in which knob "good" helped five times and "bad" never.
Experience GoodAndBad() {
  Experience experience;
  for (int i = 0; i < 5; ++i) {
    experience.Add(Moved("map", "good", "2", 0.2));
    experience.Add(Refused("map", "bad", "2"));
  }
  return experience;
}

class PriorTest : public testing::StrategyTest {
 protected:
  explicit PriorTest(std::string_view words) : StrategyTest(words) {}
  // The move of attempt 1 that comes first.
  std::string First() {
    Propose(0, {Predicted("start", 0)});
    Try(0, 100);
    strategy_->BackUp(tree_);
    Propose(1, {Predicted("y.bad=2", 0), Predicted("y.other=2", 0), Predicted("y.good=2", 0)});
    const TreeNode& node = tree_.node(1);
    return std::string(node.waiting[strategy_->SelectProposal(node, random_)].key());
  }
};

struct SteerPriorTest : PriorTest {
  SteerPriorTest() : PriorTest("steer") {}
};
TEST_F(SteerPriorTest, WhatHelpedElsewhereComesFirst) {
  strategy_->Recall(GoodAndBad());
  EXPECT_EQ(First(), "y.good=2");
}
TEST_F(SteerPriorTest, WithoutAnythingKnownItIsTheProposersOrder) { EXPECT_EQ(First(), "y.bad=2"); }

struct SteerWithoutPriorTest : PriorTest {
  SteerWithoutPriorTest() : PriorTest("steer:prior=0") {}
};
TEST_F(SteerWithoutPriorTest, SwitchedOffItIsTheProposersOrder) {
  strategy_->Recall(GoodAndBad());
  EXPECT_EQ(First(), "y.bad=2");
}

struct MctsPriorTest : PriorTest {
  MctsPriorTest() : PriorTest("mcts") {}
};
TEST_F(MctsPriorTest, WhatNeverHelpedElsewhereComesLast) {
  strategy_->Recall(GoodAndBad());
  EXPECT_EQ(First(), "y.other=2");
}

struct MctsWithoutPriorTest : PriorTest {
  MctsWithoutPriorTest() : PriorTest("mcts:prior=0") {}
};
TEST_F(MctsWithoutPriorTest, SwitchedOffItIsTheProposersOrder) {
  strategy_->Recall(GoodAndBad());
  EXPECT_EQ(First(), "y.bad=2");
}

}  // namespace
}  // namespace hone
