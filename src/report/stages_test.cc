#include "report/stages.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hone {
namespace {

using Json = nlohmann::json;

AttemptRecord From(int number, std::int64_t started_ms, std::int64_t ended_ms) {
  AttemptRecord attempt;
  attempt.number = number;
  attempt.started_ms = started_ms;
  attempt.ended_ms = ended_ms;
  attempt.outcome = "accepted";
  return attempt;
}

Evaluation Took(double compile_ms, double check_ms, double timing_ms) {
  Evaluation evaluation;
  evaluation.how->stages = {.compile_ms = compile_ms, .check_ms = check_ms, .timing_ms = timing_ms};
  return evaluation;
}

TEST(StagesTest, StagesWithoutBeginsLieOneAfterAnotherWithinTheirAttempt) {
  const std::vector<AttemptRecord> attempts = {From(1, 1000, 2000), From(2, 2000, 2100), From(3, 2100, 0)};
  const std::vector<Evaluation> evaluations = {Took(100, 200, 300), Took(50, 80, 10), {}};
  const auto spans = SpansOf(attempts, evaluations);
  ASSERT_EQ(spans.size(), 2U);  // the third has not ended
  EXPECT_EQ(spans[0].compile.end_ms, 1100);
  EXPECT_EQ(spans[0].check.begin_ms, 1100);
  EXPECT_EQ(spans[0].check.end_ms, 1300);
  EXPECT_EQ(spans[0].time.end_ms, 1600);
  EXPECT_EQ(spans[0].end_ms, 2000);
  EXPECT_EQ(spans[1].check.end_ms, 2100);  // no further than its end
  EXPECT_EQ(spans[1].time.end_ms, 2100);
  EXPECT_TRUE(spans[0].laid);
}

TEST(StagesTest, StagesLieWhereTheyBegan) {
  const std::vector<AttemptRecord> attempts = {From(1, 1000, 2000), From(2, 2000, 2500)};
  std::vector<Evaluation> evaluations = {Took(100, 200, 300), Took(50, 0, 0)};
  evaluations[0].how->stages.compile_begun_ms = 1040;
  evaluations[0].how->stages.check_begun_ms = 1139;  // a clock's whole milliseconds: not before its compilation's end
  evaluations[0].how->stages.timing_begun_ms = 1500;
  evaluations[1].how->stages.compile_begun_ms = 2010;  // and was refused
  const auto spans = SpansOf(attempts, evaluations);
  EXPECT_EQ(spans[0].compile.begin_ms, 1040);
  EXPECT_EQ(spans[0].check.begin_ms, 1140);
  EXPECT_EQ(spans[0].check.end_ms, 1340);
  EXPECT_EQ(spans[0].time.begin_ms, 1500);
  EXPECT_EQ(spans[0].time.end_ms, 1800);
  EXPECT_FALSE(spans[0].laid);
  EXPECT_EQ(spans[1].compile.end_ms, 2060);
  EXPECT_EQ(spans[1].time.begin_ms, spans[1].time.end_ms);
  EXPECT_FALSE(spans[1].laid);
}

TEST(StagesTest, NoTwoAttemptsAreInOneLaneAtATime) {
  const std::vector<AttemptRecord> attempts = {From(1, 0, 100), From(2, 50, 150), From(3, 100, 200), From(4, 120, 130)};
  const auto spans = SpansOf(attempts, std::vector<Evaluation>(4));
  EXPECT_EQ(spans[0].lane, 0);
  EXPECT_EQ(spans[1].lane, 1);
  EXPECT_EQ(spans[2].lane, 0);
  EXPECT_EQ(spans[3].lane, 2);
}

TEST(StagesTest, ATraceHasSpansInMicrosecondsSinceTheRunBegan) {
  RunMaterial material;
  material.run.created_ms = 500;
  material.attempts = {From(1, 1000, 2000)};
  material.attempts[0].origin = "\xff<script>";
  material.evaluations = {Took(100, 200, 300)};
  material.rounds = {{.number = 1, .asked_ms = 600, .answered_ms = 700}};
  material.confirmations = {{.attempt = 1, .ended_ms = 3000, .outcome = "accepted"}};
  material.confirming_ms = {400};
  std::map<std::string, Json> spans;
  const Json trace = Json::parse(TraceOf(material));
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") spans[event["name"]] = event;
  }
  ASSERT_EQ(spans.size(), 6U);
  EXPECT_EQ(spans["attempt 1"]["ts"], 500'000);
  EXPECT_EQ(spans["attempt 1"]["dur"], 1'000'000);
  EXPECT_EQ(spans["check"]["ts"], 600'000);
  EXPECT_EQ(spans["time"]["dur"], 300'000);
  EXPECT_EQ(spans["round 1"]["ts"], 100'000);
  EXPECT_EQ(spans["confirm 1"]["ts"], 2'100'000);
  EXPECT_NE(spans["confirm 1"]["tid"], spans["attempt 1"]["tid"]);
}

}  // namespace
}  // namespace hone
