#include <map>
#include <set>

#include "search/testing/strategy_test.h"

namespace hone {
namespace {

using testing::Several;

class EvolveTest : public testing::StrategyTest {
 protected:
  explicit EvolveTest(std::string_view words = "evolve:2,population=2,tournament=1,migrate=0") : StrategyTest(words) {}

  // Two islands of two: attempts 1 and 3, 2 and 4; then the first island's turn.
  void Four() {
    Propose(0, Several("start", 4));
    for (const double us : {100.0, 90.0, 110.0, 80.0}) Try(0, us);
    for (const int number : {1, 2, 3, 4}) Propose(number, Several("of " + std::to_string(number), 3));
  }
  std::set<int> Drawn() {
    std::set<int> drawn;
    for (int i = 0; i < 100; ++i) drawn.insert(Selected().value());
    return drawn;
  }
};

TEST_F(EvolveTest, EachIslandBeginsWithAStart) {
  Propose(0, Several("start", 3));
  EXPECT_EQ(Selected(), 0);
  const Attempt first = Begin(0);
  EXPECT_EQ(Selected(), 0);
  End(first, 100);
  Try(0, 0);
  EXPECT_EQ(Selected(), 1) << "the first island's turn, who has one to improve";
  Propose(1, Several("move", 2));
  Try(1, 90);
  EXPECT_EQ(Selected(), 0) << "the second has nobody, so it starts again";
}

TEST_F(EvolveTest, IslandsTakeTurnsWithParentsOfTheirOwn) {
  Four();
  EXPECT_EQ(Drawn(), (std::set<int>{1, 3}));
  const Attempt flying = Begin(1);
  EXPECT_EQ(Drawn(), (std::set<int>{2, 4})) << "what is in flight has had its turn";
  End(flying, 95);
  Try(2, 85);
  Propose(5, Several("of 5", 2));
  EXPECT_EQ(Drawn(), (std::set<int>{1, 5})) << "the population is the best two";
}

TEST_F(EvolveTest, BetterPredictedMovesAreLikelier) {
  Propose(0, Several("start", 4));
  std::map<std::size_t, int> counts;
  for (int i = 0; i < 4000; ++i) ++counts[strategy_->SelectProposal(tree_.node(0), random_)];
  EXPECT_NEAR(counts[0], 2000, 150);
  EXPECT_GT(counts[1], counts[2]);
  EXPECT_GT(counts[2], counts[3]);
  EXPECT_GT(counts[3], 300);
}

class MigrationTest : public EvolveTest {
 protected:
  MigrationTest() : EvolveTest("evolve:2,population=2,tournament=1,migrate=3") {}
};

TEST_F(MigrationTest, NowAndThenParentsAreTheNeighbours) {
  Four();
  EXPECT_EQ(Drawn(), (std::set<int>{2, 4})) << "the third turn of the first island";
}

class CrossingTest : public EvolveTest {
 protected:
  CrossingTest() : EvolveTest("evolve:2,population=2,tournament=1,migrate=0,cross=5") {}
};

TEST_F(CrossingTest, TwoOfTheIslandAreCrossedOnceAndWhatComesOfItIsTriedFirst) {
  const auto pairs = [this] {
    std::set<std::pair<int, int>> pairs;
    for (int i = 0; i < 100; ++i) {
      if (const auto pair = strategy_->SelectPair(tree_, random_)) pairs.emplace(pair->parent, pair->mate);
    }
    return pairs;
  };
  Propose(0, Several("start", 4));
  for (const double us : {100.0, 90.0, 110.0}) Try(0, us);
  EXPECT_EQ(pairs(), (std::set<std::pair<int, int>>{})) << "the fourth attempt is none";
  Try(0, 80);
  EXPECT_EQ(pairs(), (std::set<std::pair<int, int>>{{1, 3}, {3, 1}})) << "of the first island";
  Propose(1, Several("of 1", 3));
  Propose(3, Several("of 3", 3));
  tree_.AddProposals(3, ++rounds_, Several("cross", 2), 1);
  EXPECT_EQ(pairs(), (std::set<std::pair<int, int>>{})) << "one waits";
  EXPECT_EQ(Drawn(), std::set<int>{3});
  EXPECT_EQ(strategy_->SelectProposal(tree_.node(3), random_), 0u);
  EXPECT_EQ(tree_.node(3).Offered(tree_.node(3).waiting.front()).candidate.text, "cross0");
  EXPECT_EQ(tree_.node(3).waiting.front().mate, 1);
  EXPECT_EQ(tree_.node(3).waiting.back().mate, 0);
  EXPECT_EQ(*tree_.node(3).mates, std::vector<int>{1});
}

TEST_F(CrossingTest, ACrossingThatBroughtNothingIsNotAskedForAgainAndEndsNothing) {
  Four();
  tree_.AddProposals(1, ++rounds_, {}, 3);
  EXPECT_FALSE(tree_.node(1).exhausted);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(strategy_->SelectPair(tree_, random_)) << "neither way";
  EXPECT_EQ(Drawn(), (std::set<int>{1, 3})) << "an ordinary turn";
}

TEST_F(CrossingTest, AnAttemptIsNotCrossedWithTheOneThatItIsMadeOf) {
  Propose(0, Several("start", 2));
  for (const double us : {100.0, 90.0}) Try(0, us);
  Propose(1, Several("of 1", 2));
  for (const double us : {95.0, 110.0}) Try(1, us);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(strategy_->SelectPair(tree_, random_)) << "3 is made of 1";
}

class TournamentTest : public EvolveTest {
 protected:
  TournamentTest() : EvolveTest("evolve:2,population=2,tournament=40,migrate=0") {}
};

TEST_F(TournamentTest, TheBestOfThoseDrawnIsTheParent) {
  Four();
  EXPECT_EQ(Drawn(), (std::set<int>{1}));
}

}  // namespace
}  // namespace hone
