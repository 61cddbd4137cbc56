// A store in a folder of its own, and records to put into it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "base/date.h"
#include "base/files.h"
#include "base/sha256.h"
#include "base/testing/must.h"
#include "store/store.h"

namespace hone::testing {

class StoreTest : public ::testing::Test {
 protected:
  std::string Path() const { return folder_.path() + "/runs.db"; }
  TempDirectory folder_ = Must(TempDirectory::Create("store"));
};

inline std::int64_t Rows(const std::string& path, const std::string& table) {
  Connection connection = Must(Connection::Open(path, IfAbsent::kFail));
  return Must(connection.Integer("SELECT count(*) FROM " + table));
}

inline RunRecord SomeRun() {
  RunRecord run;
  run.problem_name = "softmax";
  run.problem_identity = Sha256("softmax");
  run.target = "cpu";
  run.machine = "m1";
  run.settings = R"({"seed":1})";
  run.budget = R"({"attempts":10})";
  run.bound_us = 12.5;
  return run;
}

inline AttemptRecord Started(const RunRecord& run, int number) {
  AttemptRecord attempt;
  attempt.run = run.id;
  attempt.number = number;
  attempt.parent = number - 1;
  attempt.round = 4;
  attempt.kind = "program";
  attempt.identity = Sha256(std::to_string(number));
  attempt.origin = "expert: start";
  attempt.key = "start";
  attempt.predicted_us = 20;
  attempt.started_ms = UnixMilliseconds();
  return attempt;
}

inline AttemptRecord Ended(AttemptRecord attempt) {
  attempt.ended_ms = attempt.started_ms + 5;
  attempt.outcome = "accepted";
  attempt.evaluation = R"({"outcome":"accepted"})";
  attempt.median_us = 30.25;
  attempt.cold_us = 40;
  attempt.speedup = 2;
  attempt.joules = 0.125;
  attempt.findings = R"([{"rule":"r"}])";
  attempt.limits = R"({"missing":"a tool"})";
  return attempt;
}

inline RoundRecord SomeRound(const RunRecord& run, int number, int parent) {
  return {.run = run.id,
          .number = number,
          .parent = parent,
          .turn = number,
          .moment = 10 * number,
          .asked_ms = 1,
          .answered_ms = 2,
          .input_tokens = 3000,
          .output_tokens = 100,
          .dollars = 0.25};
}

inline ProvenRecord SomeProven() {
  return {.piece = "k1",
          .target = "cpu",
          .machine = "m1",
          .run = "0a1b2c",
          .text = "program piece",
          .settings = R"({"vector":"32"})",
          .share = 0.5,
          .gain = 1.5,
          .speedup = 2,
          .problem_name = "softmax",
          .problem_identity = Sha256("softmax"),
          .version = "0.1.0",
          .at_ms = 100};
}

inline LessonRecord SomeLesson() {
  return {.run = "0a1b2c",
          .attempt = 2,
          .target = "cpu",
          .machine = "m1",
          .problem_name = "softmax",
          .problem_identity = Sha256("softmax"),
          .family = "softmax",
          .knob = "vector",
          .before = "32",
          .after = "64",
          .dtype = "f32",
          .size = 16,
          .limited_by = "memory",
          .rule = "vector_width",
          .share = 0.75,
          .gain = 0.25,
          .outcome = "accepted",
          .version = "0.1.0",
          .at_ms = 100};
}

inline ProposalRecord Proposed(const std::string& source) {
  return {.kind = "program",
          .source = source,
          .identity = Sha256(source),
          .origin = "agent: idea",
          .key = "idea",
          .predicted_us = 12};
}

}  // namespace hone::testing
