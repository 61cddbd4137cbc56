#include "search/recorded.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/testing/must.h"
#include "search/bench.h"
#include "search/search.h"
#include "search/testing/scripted_evaluator.h"

namespace hone {
namespace {

using testing::Must;

// Of the whole scripted space, or so much of it; by a strategy that looks everywhere.
SpaceTable Scripted(int candidates, const std::string& strategy = "breadth", std::uint64_t seed = 7) {
  Store store = Must(Store::Open(":memory:"));
  testing::ScriptedEvaluator evaluator(seed);
  const SearchOutcome outcome =
      Must(RunScriptedSearch(store, strategy, seed, {.attempts = candidates, .seconds = 0, .headroom = -1}, evaluator));
  return Must(TableOf(store, outcome.run));
}

Budget Attempts(int attempts) { return {.attempts = attempts, .seconds = 0, .headroom = -1}; }

TEST(RecordedTest, ASearchDecidesOnATableAsItDidWhenThatWasMade) {
  for (const std::string strategy : {"greedy", "breadth", "mcts"}) {
    SpaceTable table = Scripted(40, strategy);
    for (TableCandidate& one : table.candidates) one.interval.reset();
    const Trace trace = Must(SearchTable(table, strategy, 7, Attempts(40)));
    ASSERT_EQ(trace.points.size(), table.candidates.size()) << strategy;
    double best_us = 0;
    for (std::size_t i = 0; i < trace.points.size(); ++i) {
      const double us = table.candidates[i].warm_us;
      if (us > 0 && (best_us == 0 || us < best_us)) best_us = us;
      EXPECT_EQ(trace.points[i].best_us, best_us) << strategy << " " << i;
    }
  }
}

TEST(RecordedTest, EveryStrategyComesToAnEndOfATable) {
  const SpaceTable table = Scripted(150);
  for (const StrategyRow* row : AllStrategies()) {
    const Trace trace = Must(SearchTable(table, std::string(row->name), 3, Attempts(1000)));
    EXPECT_GE(trace.points.size(), 10u) << row->name;
    EXPECT_LE(trace.points.size(), 150u) << row->name;
    EXPECT_EQ(Must(SearchTable(table, std::string(row->name), 3, Attempts(1000))).points.size(), trace.points.size());
  }
}

TEST(RecordedTest, TimeIsWhatThingsTookWhenTheyWereRecorded) {
  SpaceTable table = Scripted(10);
  double seconds = 0;
  for (TableRound& round : table.rounds) round.seconds = 0;
  for (TableCandidate& one : table.candidates) seconds += one.seconds = 1.5;
  EXPECT_DOUBLE_EQ(Must(SearchTable(table, "breadth", 1, Attempts(1000))).points.back().seconds, seconds);
  const Trace half = Must(SearchTable(table, "breadth", 1, {.attempts = 1000, .seconds = 7, .headroom = -1}));
  EXPECT_EQ(half.points.size(), 5u);
  EXPECT_EQ(half.stop, "the 7 s are spent");
}

TEST(RecordedTest, ATimeIsDrawnFromItsInterval) {
  const TableCandidate one{
      .name = "a", .outcome = Outcome::kAccepted, .warm_us = 10, .interval = Interval{9, 12}, .seconds = 1};
  const SpaceTable table{.candidates = {one}};
  RecordedClock clock;
  double least = 100, most = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    RecordedEvaluator evaluator(table, clock, seed);
    const double us = Must(evaluator.Evaluate({CandidateKind::kProgram, "a"}, {})).timing->warm.median_us;
    EXPECT_EQ(us, Must(evaluator.Evaluate({CandidateKind::kProgram, "a"}, {})).timing->warm.median_us);
    least = std::min(least, us);
    most = std::max(most, us);
  }
  EXPECT_GE(least, 9);
  EXPECT_LT(least, 9.1);
  EXPECT_LE(most, 12);
  EXPECT_GT(most, 11.9);
  EXPECT_EQ(clock.seconds(), 400);
  RecordedEvaluator evaluator(table, clock, 1);
  EXPECT_EQ(evaluator.Evaluate({CandidateKind::kProgram, "b"}, {}).error().message, "the table has no candidate 'b'");
}

// Two moves from one start: the one that the proposer holds to be better makes it slower.
SpaceTable TwoMoves() {
  SpaceTable table;
  table.head.problem = "two";
  for (const auto& [name, us] : {std::pair("start", 100.0), std::pair("worse", 200.0), std::pair("better", 50.0)})
    table.candidates.push_back(
        {.name = name, .outcome = Outcome::kAccepted, .reason = {}, .warm_us = us, .interval = {}});
  const auto move = [](const std::string& after) {
    return Lesson{.family = "map", .knob = "vector", .before = "32", .after = after, .dtype = "f32"};
  };
  table.rounds.push_back({.from = {}, .offers = {{"start", "cut 0", 90}}});
  table.rounds.push_back(
      {.from = "start",
       .offers = {{"worse", "y.vector=16", 80, move("16")}, {"better", "y.vector=64", 95, move("64")}}});
  table.best_us = 50;
  return table;
}

TEST(RecordedTest, LessonsOfOtherTablesComeBeforeWhatTheProposerClaims) {
  const SpaceTable table = TwoMoves();
  Experience experience;
  const auto second_us = [&](const Experience* known) {
    return Must(SearchTable(table, "greedy", 1, Attempts(2), known)).points.at(1).best_us;
  };
  EXPECT_EQ(second_us(nullptr), 100) << "the worse was tried first";
  EXPECT_EQ(second_us(&experience), 100);
  for (int i = 0; i < 10; ++i) {
    for (const Lesson& lesson : LessonsOf(table)) experience.Add(lesson);
  }
  EXPECT_NEAR(experience.kinds().at("map.vector=64").brought, 10 * std::log(2), 1e-9);
  EXPECT_EQ(second_us(&experience), 50);
}

TEST(RecordedTest, ATableKeepsWhatItsOffersChange) {
  const SpaceTable table = TwoMoves();
  const SpaceTable read = Must(ReadTable(ToLines(table), "t.jsonl"));
  ASSERT_TRUE(read.rounds.at(1).offers.at(0).lesson);
  EXPECT_EQ(KindsOf(*read.rounds[1].offers[0].lesson), KindsOf(*table.rounds[1].offers[0].lesson));
  EXPECT_FALSE(read.rounds[0].offers.at(0).lesson);
}

}  // namespace
}  // namespace hone
