// What is wrong with a candidate for a CUDA device before it runs is said anywhere.
#include <gtest/gtest.h>

#include <filesystem>

#include "evaluate/local_evaluator.h"
#include "target/cuda/driver.h"
#include "target/cuda/nvcc.h"
#include "target/cuda/nvrtc.h"

namespace hone {
namespace {

constexpr const char* kProblem = R"({
  "hone_problem": 1, "name": "relu", "contract": "fp32",
  "tensors": [
    {"name": "x", "shape": [256], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
    {"name": "y", "shape": [256], "dtype": "f32", "role": "output"}
  ],
  "graph": [{"op": "aten.relu", "args": {"self": "%x"}, "outputs": ["y"]}]
})";

TEST(CompileOnlyTest, AModuleThatDoesNotCompileIsRefusedWithItsLine) {
  if (const auto version = cuda::NvccVersion(); !version) GTEST_SKIP() << version.error().message;
  const auto evaluation = CompileOnly(*ParseProblem(kProblem, "test"), {},
                                      {.kind = CandidateKind::kCudaModule, .text = "\nint f() { return nothing; }\n"});
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  EXPECT_EQ(evaluation->verdict.outcome, Outcome::kCompileError);
  EXPECT_EQ(evaluation->verdict.evidence->line, 2);
}

TEST(CompileOnlyTest, WithNothingAgainstItTheMissingDeviceIsSaid) {
  if (const auto version = cuda::NvccVersion(); !version) GTEST_SKIP() << version.error().message;
  if (cuda::FindDevices()) GTEST_SKIP() << "there is a device";
  const auto evaluation = CompileOnly(*ParseProblem(kProblem, "test"), {},
                                      {.kind = CandidateKind::kCudaModule, .text = "int f() { return 0; }\n"});
  ASSERT_FALSE(evaluation);
  EXPECT_EQ(evaluation.error().kind, ErrorKind::kNotFound);
}

TEST(CompileOnlyTest, APlanThatDoesNotCompileIsRefusedWithItsLine) {
  if (const auto version = cuda::NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "evaluate_processes";
  const auto evaluation = CompileOnly(*ParseProblem(kProblem, "test"), {}, {.kind = CandidateKind::kPlan, .text = R"({
    "hone_plan": 1,
    "sources": [{"name": "relu.cu", "text": ["extern \"C\" __global__ void relu(float* y) {", "  *y = nothing;", "}"]}],
    "steps": [{"do": "launch", "kernel": "relu", "grid": [1], "block": [1], "arguments": [{"kind": "buffer", "name": "y"}]}]
  })"},
                                      program);
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  EXPECT_EQ(evaluation->verdict.outcome, Outcome::kCompileError) << evaluation->verdict.reason;
  EXPECT_EQ(evaluation->verdict.reason, "relu.cu, line 2: identifier \"nothing\" is undefined");
}

TEST(CompileOnlyTest, APlanThatIsNoneIsInvalid) {
  const auto evaluation =
      CompileOnly(*ParseProblem(kProblem, "test"), {}, {.kind = CandidateKind::kPlan, .text = "{}"});
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  EXPECT_EQ(evaluation->verdict.outcome, Outcome::kInvalid);
}

}  // namespace
}  // namespace hone
