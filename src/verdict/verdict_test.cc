#include "verdict/verdict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "base/testing/page.h"

namespace hone {
namespace {

TEST(VerdictTest, EveryOutcomeHasANameThatReadsBack) {
  for (int i = 0; i <= static_cast<int>(Outcome::kSuspicious); ++i) {
    const auto outcome = static_cast<Outcome>(i);
    EXPECT_EQ(ParseOutcome(Name(outcome)), outcome);
  }
  EXPECT_EQ(ParseOutcome("fine"), std::nullopt);
}

TEST(VerdictTest, ThePageNamesEveryOutcomeAndNoOther) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(Outcome::kSuspicious); ++i) names.emplace_back(Name(static_cast<Outcome>(i)));
  const std::string section = testing::Section(testing::Page("evaluation.md"), "## Verdicts");
  EXPECT_EQ(testing::FirstColumn(section, "outcome | when | evidence"), names);
}

TEST(VerdictTest, AnEvaluationReadsBackAsItWasWritten) {
  Evaluation evaluation;
  evaluation.verdict.outcome = Outcome::kAccepted;
  evaluation.verdict.error_over_budget = 0.25;
  evaluation.verdict.official_allclose = true;
  evaluation.verdict.range = "componentwise";
  evaluation.timing =
      Timing{.warm = {.median_us = 12.5, .interval = Interval{12, 13}, .count = 40},
             .cold = {.median_us = 80},
             .energy = Energy{.joules = 0.25, .net_joules = 0.2, .windows = {0.24, 0.25, 0.26}, .sensor = "a meter"},
             .prepare_us = 3,
             .threads = 2,
             .launched = "graph",
             .against = {{.baseline = "naive", .speedup = 4, .rounds = 7}}};
  evaluation.timing->clocks =
      Clocks{.sm_mhz_low = 1700, .sm_mhz_high = 1980, .limits = {"power cap"}, .discarded_rounds = 2};
  evaluation.how->stages.check_ms = 8;
  evaluation.how->sandbox = "bubblewrap + seccomp";
  evaluation.how->notes = {"baseline 'compile': no C compiler"};
  const nlohmann::json written = ToJson(evaluation);
  const auto read = ParseEvaluation(written);
  ASSERT_TRUE(read);
  EXPECT_EQ(ToJson(*read), written);
  EXPECT_EQ(read->timing->against.at(0).speedup, 4);
  EXPECT_EQ(read->timing->warm.interval->high, 13);
  EXPECT_EQ(read->timing->launched, "graph");
  ASSERT_TRUE(read->timing->energy);
  EXPECT_EQ(read->timing->energy->joules, 0.25);
  EXPECT_EQ(read->timing->energy->net_joules, 0.2);
  EXPECT_FALSE(read->timing->energy->idle_watts);
  EXPECT_EQ(read->timing->energy->windows, (std::vector{0.24, 0.25, 0.26}));
  EXPECT_EQ(read->timing->energy->sensor, "a meter");
  ASSERT_TRUE(read->timing->clocks);
  EXPECT_EQ(read->timing->clocks->sm_mhz_low, 1700);
  EXPECT_EQ(read->timing->clocks->limits, (std::vector<std::string>{"power cap"}));
  EXPECT_EQ(read->timing->clocks->discarded_rounds, 2);
}

TEST(VerdictTest, WhenStagesBeganIsKeptWhereItIsKnown) {
  Evaluation evaluation;
  evaluation.how->stages = {.compile_ms = 3, .compile_begun_ms = 1795466033513, .check_begun_ms = 1795466033516};
  const nlohmann::json written = ToJson(evaluation);
  EXPECT_FALSE(written["stages"].contains("timing_begun_ms")) << "it did not come to that";
  const auto read = ParseEvaluation(written);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->how->stages.compile_begun_ms, 1795466033513);
  EXPECT_EQ(read->how->stages.check_begun_ms, 1795466033516);
  EXPECT_EQ(read->how->stages.timing_begun_ms, 0);
  nlohmann::json older = written;
  older["stages"].erase("compile_begun_ms");
  older["stages"].erase("check_begun_ms");
  const auto read_older = ParseEvaluation(older);
  ASSERT_TRUE(read_older);
  EXPECT_EQ(read_older->how->stages.compile_begun_ms, 0);
  EXPECT_EQ(read_older->how->stages.compile_ms, 3);
}

TEST(VerdictTest, NonfiniteEvidenceSurvivesJson) {
  Evaluation evaluation;
  evaluation.verdict.outcome = Outcome::kNonfinite;
  evaluation.verdict.evidence = Evidence{.draw = "seed 1", .index = {3, 4}, .expected = 1.0, .got = std::nan("")};
  evaluation.verdict.evidence->budget = HUGE_VAL;
  const auto text = ToJson(evaluation).dump();
  const auto read = ParseEvaluation(nlohmann::json::parse(text));
  ASSERT_TRUE(read);
  EXPECT_TRUE(std::isnan(*read->verdict.evidence->got));
  EXPECT_TRUE(std::isinf(*read->verdict.evidence->budget));
  EXPECT_EQ(read->verdict.evidence->index, (std::vector<std::int64_t>{3, 4}));
}

// As they lie in run stores since 2026-11: what reads and writes them may change, they may not.
TEST(VerdictTest, StoredDocumentsReadAndAreWrittenByteForByteAgain) {
  const char* source = std::getenv("HONE_SOURCE");
  ASSERT_NE(source, nullptr) << "HONE_SOURCE names the repository";
  for (const auto& file : std::filesystem::directory_iterator(std::string(source) + "/src/verdict/testdata")) {
    std::ifstream stream(file.path());
    const std::string stored((std::istreambuf_iterator<char>(stream)), {});
    const auto read = ParseEvaluation(nlohmann::json::parse(stored));
    ASSERT_TRUE(read) << file.path() << ": " << read.error().message;
    EXPECT_EQ(ToJson(*read).dump(2) + "\n", stored) << file.path();
  }
}

TEST(VerdictTest, AnUnknownOutcomeIsCorruptData) {
  const auto read = ParseEvaluation(nlohmann::json{{"outcome", "lovely"}});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::kCorrupt);
  EXPECT_EQ(read.error().message, "not an evaluation: it has the unknown outcome 'lovely'");
}

TEST(VerdictTest, WhatIsNotKnownIsNull) {
  Evaluation evaluation;
  evaluation.verdict.outcome = Outcome::kAccepted;
  evaluation.timing =
      Timing{.warm = {.median_us = 3, .count = 5},
             .against = {{.baseline = "eager", .rounds = 2, .disturbed = "its rounds took 1 us to 9 us"}}};
  const nlohmann::json written = ToJson(evaluation);
  EXPECT_TRUE(written["timing"]["warm"]["low_us"].is_null());
  EXPECT_TRUE(written["timing"]["warm"]["high_us"].is_null());
  const nlohmann::json& against = written["timing"]["against"][0];
  EXPECT_TRUE(against["speedup"].is_null());
  EXPECT_TRUE(against["speedup_low"].is_null());
  EXPECT_FALSE(against.contains("baseline_hidden"));
  const auto read = ParseEvaluation(written);
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->timing->warm.interval);
  EXPECT_FALSE(read->timing->against[0].speedup);
  EXPECT_EQ(read->timing->against[0].disturbed, "its rounds took 1 us to 9 us");
}

TEST(VerdictTest, FasterIsAWholeIntervalAboveOneOrMoreThanChance) {
  EXPECT_TRUE((Comparison{.speedup = 1.02, .interval = Interval{1.01, 1.03}}).Faster());
  EXPECT_FALSE((Comparison{.speedup = 9, .interval = Interval{0.9, 20}}).Faster());
  EXPECT_FALSE((Comparison{.speedup = 1.4}).Faster());
  EXPECT_TRUE((Comparison{.speedup = 1.6}).Faster());
  EXPECT_FALSE((Comparison{.disturbed = "the machine was not quiet in 5 of 6 rounds"}).Faster());
}

TEST(VerdictTest, ABaselineThatIsWrongIsNoMeasure) {
  Evaluation evaluation;
  evaluation.verdict.outcome = Outcome::kAccepted;
  evaluation.timing = Timing{.against = {{.baseline = "k.py", .wrong = "y[3] is 1, expected 2"},
                                         {.baseline = "eager", .speedup = 3},
                                         {.baseline = "l.py", .speedup = 4, .error_over_budget = 0.5}}};
  ASSERT_NE(evaluation.timing->OverBest(), nullptr);
  EXPECT_EQ(evaluation.timing->OverBest()->baseline, "eager");
  EXPECT_EQ(evaluation.timing->against[0].WhyNoRatio(), "wrong: y[3] is 1, expected 2");

  const auto read = ParseEvaluation(ToJson(evaluation));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->timing->against[0].wrong, "y[3] is 1, expected 2");
  EXPECT_EQ(read->timing->against[2].error_over_budget, 0.5);
}

TEST(VerdictTest, TheFastestBaselineIsTheOneThatIsBeatenLeast) {
  Timing timing;
  EXPECT_EQ(timing.OverBest(), nullptr);
  timing.against = {{.baseline = "eager", .speedup = 3},
                    {.baseline = "compile", .speedup = 1.2},
                    {.baseline = "eager_graph", .speedup = 2}};
  EXPECT_EQ(timing.OverBest()->baseline, "compile");
  timing.against[1].speedup.reset();  // it may be the fastest, and nobody knows
  EXPECT_EQ(timing.OverBest(), nullptr);
}

}  // namespace
}  // namespace hone
