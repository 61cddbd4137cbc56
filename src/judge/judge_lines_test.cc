#include "judge/judge_lines.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(JudgeLinesTest, AnOpeningReadsBackAsItWasWritten) {
  JudgeOpening opening{.problem = "{}", .folder = "/problems", .options = {.program = "/bin/hone", .threads = 3}};
  opening.options.expected = {"eager"};
  opening.options.sandbox = SandboxPolicy::kRequired;
  opening.options.call_wall = std::chrono::milliseconds(1500);
  opening.options.form = Form::kPlan;
  opening.options.outside.push_back({.name = "eager",
                                     .mode = "eager",
                                     .argv = {"python", "-c", ""},
                                     .files = {"a.py", "b.py"},
                                     .device = true,
                                     .own = true});
  const auto written = ToRecord(opening);
  const auto read = FromRecord<JudgeOpening>(written, "an opening");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(ToRecord(*read), written);
  EXPECT_EQ(read->options.sandbox, SandboxPolicy::kRequired);
  EXPECT_EQ(read->options.call_wall, std::chrono::milliseconds(1500));
  EXPECT_EQ(read->options.outside.at(0).argv.size(), 3u);
  EXPECT_EQ(read->options.outside.at(0).files, (std::vector<std::string>{"a.py", "b.py"}));
  EXPECT_TRUE(read->options.outside.at(0).own);
  EXPECT_EQ(read->options.expected, (std::vector<std::string>{"eager"}));
}

TEST(JudgeLinesTest, ARequestReadsBackAsItWasWritten) {
  JudgeRequest request{.form = Form::kPlan, .library = "/cache/plan", .ours = true};
  request.asked = {.timing_budget = std::chrono::milliseconds(20),
                   .confidence = 0.01,
                   .baselines = {},
                   .fresh_draws = true,
                   .first_look = true,
                   .bound_us = 3.5,
                   .best_us = 7};
  request.known["eager"] = {.warm = {.median_us = 50, .count = 30}, .measured_on = "2026-11-21"};
  request.earlier_us["compile"] = 40;
  const auto written = ToRecord(request);
  const auto read = FromRecord<JudgeRequest>(written, "a request");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(ToRecord(*read), written);
  EXPECT_EQ(read->asked.timing_budget, std::chrono::milliseconds(20));
  EXPECT_TRUE(read->asked.fresh_draws);
  EXPECT_TRUE(read->asked.first_look);
  EXPECT_TRUE(read->ours);
  EXPECT_TRUE(read->asked.baselines.empty());
  EXPECT_EQ(read->known.at("eager").warm.count, 30);
}

}  // namespace
}  // namespace hone
