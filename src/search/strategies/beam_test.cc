#include <set>

#include "search/testing/strategy_test.h"

namespace hone {
namespace {

using testing::Several;

class BeamTest : public testing::StrategyTest {
 protected:
  BeamTest() : StrategyTest("beam:2,moves=2") {}

  // Three starts, of which the beam of two has tried two.
  void Starts() {
    Propose(0, Several("start", 3));
    Try(0, 100);
    EXPECT_EQ(Selected(), 0);
    Try(0, 80);
  }
};

TEST_F(BeamTest, ALevelIsWholeBeforeTheNextBegins) {
  Starts();
  EXPECT_EQ(Selected(), 2) << "the faster is asked first";
  Propose(2, Several("of fast", 2));
  EXPECT_EQ(Selected(), 1) << "is asked before anything is tried";
  Propose(1, Several("of slow", 2));
  EXPECT_EQ(Selected(), 2);
  Try(2, 90);
  Try(2, 0);
  EXPECT_EQ(Selected(), 1);
  const Attempt third = Begin(1);
  EXPECT_EQ(Selected(), 1);
  End(third, 70);
  const Attempt fourth = Begin(1);
  EXPECT_EQ(Selected(), std::nullopt) << "the level is not known yet";
  End(fourth, 60);
  EXPECT_EQ(Selected(), 6);
}

TEST_F(BeamTest, OnlyTheBestOfALevelAreImproved) {
  Starts();
  Propose(1, Several("of slow", 2));
  Propose(2, Several("of fast", 2));
  Try(2, 90);
  Try(2, 91);
  Try(1, 60);
  Try(1, 92);
  std::set<int> asked;
  for (std::optional<int> next = Selected(); next && tree_.node(*next).waiting.empty(); next = Selected()) {
    asked.insert(*next);
    Propose(*next, Several("of " + std::to_string(*next), 1));
  }
  EXPECT_EQ(asked, (std::set<int>{3, 5}));
}

TEST_F(BeamTest, ABeamThatEndedBeginsAgainWithMoreRoom) {
  Starts();
  Propose(1, {});
  Propose(2, {});
  EXPECT_EQ(Selected(), 0) << "the third start";
  Try(0, 0);
  EXPECT_EQ(Selected(), 0) << "may have more";
  Propose(0, {});
  EXPECT_EQ(Selected(), std::nullopt) << "a refused one is in no beam";
}

}  // namespace
}  // namespace hone
