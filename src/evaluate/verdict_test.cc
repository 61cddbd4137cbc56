#include "evaluate/verdict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace hone {
namespace {

TEST(VerdictTest, EveryOutcomeHasANameThatReadsBack) {
  for (int i = 0; i <= static_cast<int>(Outcome::kSuspicious); ++i) {
    const auto outcome = static_cast<Outcome>(i);
    EXPECT_EQ(ParseOutcome(Name(outcome)), outcome);
  }
  EXPECT_EQ(ParseOutcome("fine"), std::nullopt);
}

TEST(VerdictTest, AnEvaluationReadsBackAsItWasWritten) {
  Evaluation evaluation;
  evaluation.verdict.outcome = Outcome::kAccepted;
  evaluation.verdict.error_over_budget = 0.25;
  evaluation.verdict.official_allclose = true;
  evaluation.verdict.range = "componentwise";
  evaluation.timing = Timing{.warm = {.median_us = 12.5, .low_us = 12, .high_us = 13, .count = 40},
                             .cold = {.median_us = 80},
                             .prepare_us = 3,
                             .threads = 2,
                             .launched = "graph",
                             .against = {{.baseline = "naive", .speedup = 4, .rounds = 7}}};
  evaluation.timing->clocks =
      Clocks{.sm_mhz_low = 1700, .sm_mhz_high = 1980, .limits = {"power cap"}, .discarded_rounds = 2};
  evaluation.stages.check_ms = 8;
  evaluation.sandbox = "bubblewrap + seccomp";
  evaluation.notes = {"baseline 'compile': no C compiler"};
  const nlohmann::json written = ToJson(evaluation);
  const auto read = ParseEvaluation(written);
  ASSERT_TRUE(read);
  EXPECT_EQ(ToJson(*read), written);
  EXPECT_EQ(read->timing->against.at(0).speedup, 4);
  EXPECT_EQ(read->timing->launched, "graph");
  ASSERT_TRUE(read->timing->clocks);
  EXPECT_EQ(read->timing->clocks->sm_mhz_low, 1700);
  EXPECT_EQ(read->timing->clocks->limits, (std::vector<std::string>{"power cap"}));
  EXPECT_EQ(read->timing->clocks->discarded_rounds, 2);
}

TEST(VerdictTest, NonfiniteEvidenceSurvivesJson) {
  Evaluation evaluation;
  evaluation.verdict.outcome = Outcome::kNonfinite;
  evaluation.verdict.evidence = {.draw = "seed 1", .index = {3, 4}, .expected = 1.0, .got = std::nan("")};
  evaluation.verdict.evidence.budget = HUGE_VAL;
  const auto text = ToJson(evaluation).dump();
  const auto read = ParseEvaluation(nlohmann::json::parse(text));
  ASSERT_TRUE(read);
  EXPECT_TRUE(std::isnan(*read->verdict.evidence.got));
  EXPECT_TRUE(std::isinf(*read->verdict.evidence.budget));
  EXPECT_EQ(read->verdict.evidence.index, (std::vector<std::int64_t>{3, 4}));
}

TEST(VerdictTest, AnUnknownOutcomeIsCorruptData) {
  const auto read = ParseEvaluation(nlohmann::json{{"outcome", "lovely"}});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::kCorrupt);
}

TEST(VerdictTest, TheFastestBaselineIsTheOneThatIsBeatenLeast) {
  Timing timing;
  EXPECT_EQ(timing.OverBest(), nullptr);
  timing.against = {{.baseline = "eager", .speedup = 3},
                    {.baseline = "compile", .speedup = 1.2},
                    {.baseline = "eager_graph", .speedup = 2}};
  EXPECT_EQ(timing.OverBest()->baseline, "compile");
}

}  // namespace
}  // namespace hone
