// Modules that write into an input: one that does is accepted, also where its state goes on with each call, and none
// that forgets to, writes too much, or takes what it has seen for what is there.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "evaluate/local_evaluator.h"

namespace hone {
namespace {

// A state that decays, and a cache of which one place is written.
constexpr const char* kProblem = R"({
  "hone_problem": 1, "name": "step", "contract": "fp32",
  "tensors": [
    {"name": "x", "shape": [4, 1, 16], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
    {"name": "state", "shape": [4, 1, 16], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
    {"name": "cache", "shape": [4, 30, 16], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
    {"name": "at", "shape": [1], "dtype": "i64", "role": "input", "generator": {"kind": "integer", "low": 0, "high": 30}},
    {"name": "sum", "shape": [4, 16], "dtype": "f32", "role": "output"},
    {"name": "state_after", "shape": [4, 1, 16], "dtype": "f32", "role": "output", "updates": "state"},
    {"name": "cache_after", "shape": [4, 30, 16], "dtype": "f32", "role": "output", "updates": "cache"}
  ],
  "graph": [
    {"op": "aten.mul.Tensor", "args": {"self": "%state", "other": 3.0}, "outputs": ["grown"]},
    {"op": "aten.add.Tensor", "args": {"self": "%grown", "other": "%x"}, "outputs": ["state_after"]},
    {"op": "aten.index_copy", "args": {"self": "%cache", "dim": 1, "index": "%at", "source": "%state_after"}, "outputs": ["cache_after"]},
    {"op": "aten.sum.dim_IntList", "args": {"self": "%cache_after", "dim": [1]}, "outputs": ["sum"]}
  ]
})";

constexpr const char* kHead = R"(#include <hone/module.h>
#include <cstring>
extern "C" int32_t hone_abi_version() { return HONE_ABI_VERSION; }
static float* At(const DLTensor& t) { return static_cast<float*>(t.data); }
extern "C" int32_t hone_run(const HoneCall* call) {
  const float* x = At(call->inputs[0]);
  float *state = At(call->outputs[1]), *cache = At(call->outputs[2]), *sum = At(call->outputs[0]);
  const long at = *static_cast<const long*>(call->inputs[3].data);
)";
constexpr const char* kState = "  for (int i = 0; i < 64; ++i) state[i] = state[i] * 3 + x[i];\n";
constexpr const char* kCache =
    "  for (int b = 0; b < 4; ++b) std::memcpy(cache + (b * 30 + at) * 16, state + b * 16, 64);\n";
constexpr const char* kSum = R"(  for (int b = 0; b < 4; ++b) {
    for (int i = 0; i < 16; ++i) {
      float s = 0;
      for (int j = 0; j < 30; ++j) s += cache[(b * 30 + j) * 16 + i];
      sum[b * 16 + i] = s;
    }
  }
)";

class UpdatesTest : public ::testing::Test {
 protected:
  static Evaluation Judged(const std::string& body, bool time = false) {
    static std::unique_ptr<Evaluator> evaluator = [] {
      EvaluatorOptions options;
      options.program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "evaluate_processes";
      options.threads = 1;
      auto started = StartEvaluator(*ParseProblem(kProblem, "test"), options);
      EXPECT_TRUE(started) << started.error().message;
      return std::move(*started);
    }();
    const auto evaluation =
        evaluator->Evaluate({.kind = CandidateKind::kModule, .text = kHead + body + "  return 0;\n}\n"},
                            {.time = time, .timing_budget = std::chrono::milliseconds(100)});
    EXPECT_TRUE(evaluation) << evaluation.error().message;
    return *evaluation;
  }
};

TEST_F(UpdatesTest, WhatIsWrittenInPlaceIsRightAndIsTimed) {
  const Evaluation seen = Judged(std::string(kState) + kCache + kSum, /*time=*/true);
  EXPECT_EQ(seen.verdict.outcome, Outcome::kAccepted) << seen.verdict.reason;
  EXPECT_TRUE(seen.verdict.bit_reproducible);
  EXPECT_TRUE(seen.timing);
}

TEST_F(UpdatesTest, TheInputIsTheSameMemory) {
  const Evaluation seen =
      Judged("  state = At(call->inputs[1]);\n  cache = At(call->inputs[2]);\n" + std::string(kState) + kCache + kSum);
  EXPECT_EQ(seen.verdict.outcome, Outcome::kAccepted) << seen.verdict.reason;
}

TEST_F(UpdatesTest, WhoDoesNotWriteIsWrong) {
  const std::string at = "  float other[1920];\n  std::memcpy(other, cache, sizeof other);\n  cache = other;\n";
  const Evaluation seen = Judged(kState + at + kCache + kSum);
  EXPECT_EQ(seen.verdict.outcome, Outcome::kWrongResult);
  EXPECT_EQ(seen.verdict.evidence->output, "cache_after");
  EXPECT_EQ(
      Judged("  float next[64];\n  for (int i = 0; i < 64; ++i) next[i] = state[i] * 3 + x[i];\n  state = next;\n" +
             std::string(kCache) + kSum)
          .verdict.outcome,
      Outcome::kWrongResult);
}

TEST_F(UpdatesTest, WhoWritesMoreIsWrong) {
  const Evaluation seen = Judged(std::string(kState) + kCache + kSum + "  cache[(at + 7) % 30 * 16] = 0;\n");
  EXPECT_EQ(seen.verdict.outcome, Outcome::kWrongResult);
  EXPECT_EQ(seen.verdict.evidence->output, "cache_after");
}

// It goes on from what it has left the last time, wherever the judge has put something else meanwhile.
TEST_F(UpdatesTest, WhoTakesTheStateFromTheCallBeforeIsWrong) {
  const Evaluation seen = Judged(
      "  static float own[64];\n  static bool begun = false;\n"
      "  if (!begun) std::memcpy(own, state, sizeof own);\n  begun = true;\n"
      "  for (int i = 0; i < 64; ++i) state[i] = own[i] = own[i] * 3 + x[i];\n" +
      std::string(kCache) + kSum);
  EXPECT_FALSE(seen.verdict.accepted());
}

}  // namespace
}  // namespace hone
