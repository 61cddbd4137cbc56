#include "search/table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/testing/must.h"
#include "search/bench.h"
#include "search/testing/scripted_evaluator.h"

namespace hone {
namespace {

using testing::Must;

// Of the scripted space, so many of its candidates.
SpaceTable Scripted(int candidates) {
  Store store = Must(Store::Open(":memory:"));
  testing::ScriptedEvaluator evaluator(7);
  const SearchOutcome outcome = Must(
      RunScriptedSearch(store, "breadth:0.5", 7, {.attempts = candidates, .seconds = 0, .headroom = -1}, evaluator));
  return Must(TableOf(store, outcome.run));
}

TEST(TableTest, HasWhatWasMeasuredAndWhoOfferedIt) {
  const SpaceTable table = Scripted(40);
  EXPECT_EQ(table.head.problem, "scripted space");
  EXPECT_EQ(table.head.search, "breadth:deep=0.5");
  EXPECT_EQ(table.head.stop, "all 40 attempts are made");
  ASSERT_EQ(table.candidates.size(), 40u);
  int refused = 0, unmeasured = 0;
  for (const TableCandidate& one : table.candidates) {
    EXPECT_EQ(one.name.size(), 16u);
    EXPECT_EQ(one.outcome == Outcome::kAccepted, one.warm_us > 0);
    EXPECT_EQ(one.outcome == Outcome::kAccepted, one.reason.empty());
    if (one.warm_us > 0) {
      EXPECT_LT(one.interval.value().low, one.warm_us);
      EXPECT_GE(one.warm_us, table.best_us);
    } else {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  ASSERT_FALSE(table.rounds.empty());
  EXPECT_TRUE(table.rounds[0].from.empty());
  ASSERT_EQ(table.rounds[0].offers.size(), 3u);
  EXPECT_TRUE(table.rounds[0].offers[0].key.starts_with("start ")) << table.rounds[0].offers[0].key;
  EXPECT_GT(table.rounds[0].offers[0].predicted_us, 0);
  for (const TableRound& round : table.rounds) unmeasured += round.unmeasured;
  EXPECT_GT(unmeasured, 0);
}

TEST(TableTest, ReadsAsItWasWritten) {
  const SpaceTable table = Scripted(30);
  const std::string lines = ToLines(table);
  const SpaceTable read = Must(ReadTable(lines, "t.jsonl"));
  EXPECT_EQ(ToLines(read), lines);
  EXPECT_EQ(read.best_us, table.best_us);
  EXPECT_GT(read.best_us, 0);
}

TEST(TableTest, ATimeIsWithinItsIntervalOrHasNone) {
  Evaluation evaluation;
  evaluation.verdict.outcome = Outcome::kAccepted;
  evaluation.timing = Timing{.warm = {.median_us = 30, .interval = Interval{28, 33}, .p10_us = 10, .count = 9}};
  const TableCandidate quiet = MeasuredAs("a", evaluation, 1);
  EXPECT_EQ(quiet.warm_us, 30);
  EXPECT_EQ(quiet.interval.value().low, 28);
  evaluation.timing->disturbed = "others worked";
  const TableCandidate disturbed = MeasuredAs("b", evaluation, 1);
  EXPECT_EQ(disturbed.warm_us, 10);
  EXPECT_FALSE(disturbed.interval) << "it is the median's";

  SpaceTable table = Scripted(5);
  const auto accepted = std::ranges::find_if(table.candidates, [](const auto& one) { return one.warm_us > 0; });
  ASSERT_NE(accepted, table.candidates.end());
  accepted->interval = Interval{2 * accepted->warm_us, 3 * accepted->warm_us};  // as older tables have it
  const SpaceTable read = Must(ReadTable(ToLines(table), "t.jsonl"));
  const auto found = std::ranges::find(read.candidates, accepted->name, &TableCandidate::name);
  ASSERT_NE(found, read.candidates.end());
  EXPECT_EQ(found->warm_us, accepted->warm_us);
  EXPECT_FALSE(found->interval);
}

TEST(TableTest, ABadFileGivesOneLine) {
  const auto message = [](std::string_view lines) { return ReadTable(lines, "t.jsonl").error().message; };
  const std::string head = R"({"hone_table": 1, "problem": "p"})"
                           "\n";
  EXPECT_EQ(message(""), "t.jsonl is empty, and no table of a space");
  EXPECT_EQ(message("{}\n"), "t.jsonl:1: the first line of a table has \"hone_table\": 1");
  EXPECT_TRUE(message(head + "no json").starts_with("t.jsonl:2: ")) << message(head + "no json");
  EXPECT_EQ(message(head + R"({"candidate": "a", "outcome": "splendid"})"),
            "t.jsonl:2: not a candidate of a table: it has the unknown outcome 'splendid'");
  EXPECT_EQ(message(head), "t.jsonl: no round of it says what to begin with");
  EXPECT_TRUE(ReadTable(head, "t.jsonl", Rounds::kOptional));
  EXPECT_EQ(message(head + R"({"offers": [{"candidate": "a"}]})"), "t.jsonl: it offers a, which was not measured");
  const std::string a = R"({"candidate": "a", "outcome": "accepted", "warm_us": 3})"
                        "\n";
  EXPECT_EQ(message(head + a + a), "t.jsonl: it has candidate a twice");
  EXPECT_EQ(message(head + a + R"({"from": "b", "offers": []})"),
            "t.jsonl: it has a round from b, which it does not have");
}

}  // namespace
}  // namespace hone
