#include "evaluate/sampled_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "graph/graph.h"
#include "target/cuda/nvcc.h"
#include "target/cuda/nvrtc.h"
#include "target/shipped_model.h"

namespace hone {
namespace {

// Each thread sums a row, and waits for every load.
constexpr const char* kPlan = R"({"hone_plan": 1, "sources": [{"name": "sums.cu", "text":
"extern \"C\" __global__ void sums(const float* x, float* y) {\n  float sum = 0;\n  for (int i = 0; i < 64; ++i) {\n    sum = sum * 0.5f + x[threadIdx.x * 64 + i];\n  }\n  y[threadIdx.x] = sum;\n}\n"}],
"steps": [{"do": "launch", "kernel": "sums", "grid": [1], "block": [32],
           "arguments": [{"kind": "buffer", "name": "x"}, {"kind": "buffer", "name": "y"}]}]})";
constexpr const char* kProblem = R"({"hone_problem": 1, "name": "p", "contract": "fp32", "tensors": [
  {"name": "x", "shape": [32, 64], "dtype": "f32", "role": "input",
   "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
  {"name": "y", "shape": [32], "dtype": "f32", "role": "output"}],
  "graph": [{"op": "aten.sum.dim_IntList", "args": {"self": "%x", "dim": [1]}, "outputs": ["y"]}]})";

class SampledKernelsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto version = cuda::NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
    setenv("HONE_CACHE", folder_.path().c_str(), 1);
    auto profiled = ProfileCandidate(candidate_, "plan", problem_, nullptr, device_, "");
    ASSERT_TRUE(profiled) << profiled.error().message;
    if (const auto* wrong = std::get_if<Unprofiled>(&*profiled)) FAIL() << wrong->where << ' ' << wrong->message;
    made_ = std::get<CandidateProfiles>(std::move(*profiled));
    const auto compiled = CompileWithLines(made_, candidate_, problem_, device_, "");
    ASSERT_TRUE(compiled) << compiled.error().message;
  }
  void TearDown() override { unsetenv("HONE_CACHE"); }
  // The first instruction of this name on this line.
  std::int64_t OffsetOf(std::string_view name, int line) const {
    const cuda::KernelFacts& kernel = made_.plan->launches[0];
    for (std::size_t i = 0; i < kernel.code.size(); ++i) {
      if (kernel.code[i].name == name && kernel.places[i].line == line) return static_cast<std::int64_t>(16 * i);
    }
    return -1;
  }
  TempDirectory folder_ = TempDirectory::Create("sampled").value();
  Problem problem_ = ParseProblem(kProblem, "p").value();
  DeviceModel device_ = TypicalDevice();
  Candidate candidate_{CandidateKind::kPlan, kPlan};
  CandidateProfiles made_;
};

TEST_F(SampledKernelsTest, RecordedSamplesAreJoinedToInstructionsAndLines) {
  const auto waits = OffsetOf("FFMA", 4), loads = OffsetOf("LDG", 4);
  ASSERT_GE(waits, 0);
  ASSERT_GE(loads, 0);
  ProfiledReport report;
  report.samples = {{"sums", waits, {{"smsp__pcsamp_warps_issue_stalled_long_scoreboard", 90}}},
                    {"sums", loads, {{"smsp__pcsamp_warps_issue_stalled_selected", 10}}},
                    {"librarys", waits, {{"smsp__pcsamp_warps_issue_stalled_barrier", 1000}}}};
  const auto kernels = SampledKernelsOf(made_, candidate_, report);
  ASSERT_EQ(kernels.size(), 1u);
  AddSamples(made_.profiles, kernels);
  const Profile& launch = made_.profiles.front();
  EXPECT_EQ(launch.subject, "sums");
  EXPECT_EQ(launch.Get("samples"), 100) << "and none of the library's";
  EXPECT_EQ(launch.Get("hot_share"), 0.9);
  EXPECT_EQ(launch.Word("hot_place"), "FFMA of line 4 (sum = sum * 0.5f + x[threadIdx.x * 64 + i];)");
  EXPECT_TRUE(launch.Word("hot_for").starts_with("LDG")) << launch.Word("hot_for");
  const std::string text = Describe(kernels[0]);
  EXPECT_NE(text.find("line 4: sum = sum * 0.5f + x[threadIdx.x * 64 + i];"), std::string::npos) << text;
  EXPECT_NE(text.find("90.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("waits for memory"), std::string::npos) << text;
  EXPECT_NE(text.find("..."), std::string::npos) << "what has no samples is left out";
  const nlohmann::json json = ToJson(kernels);
  EXPECT_EQ(json[0]["samples"], 100);
  EXPECT_EQ(json[0]["instructions"][static_cast<std::size_t>(waits / 16)]["line"], 4);
  EXPECT_EQ(json[0]["instructions"][static_cast<std::size_t>(waits / 16)]["reason"], "long_scoreboard");
}

TEST_F(SampledKernelsTest, WithoutSamplesAllOfTheCodeIsShownAndNoFactsAreAdded) {
  const auto kernels = SampledKernelsOf(made_, candidate_, {});
  ASSERT_EQ(kernels.size(), 1u);
  AddSamples(made_.profiles, kernels);
  EXPECT_FALSE(made_.profiles.front().Find("samples"));
  const std::string text = Describe(kernels[0]);
  EXPECT_NE(text.find("STG"), std::string::npos) << text;
  EXPECT_EQ(text.find("..."), std::string::npos);
  EXPECT_GT(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), kernels[0].code.size());
}

TEST_F(SampledKernelsTest, ModulesKnowTheirLinesToo) {
  if (const auto version = cuda::NvccVersion(); !version) GTEST_SKIP() << version.error().message;
  const Candidate module{CandidateKind::kCudaModule, R"(#include <hone/module.h>
__global__ void doubles(float* y) {
  y[threadIdx.x] *= 2;
}
extern "C" int32_t hone_abi_version() { return HONE_ABI_VERSION; }
extern "C" int32_t hone_run(const HoneCall* call) {
  doubles<<<1, 32, 0, static_cast<cudaStream_t>(call->stream)>>>(static_cast<float*>(call->outputs[0].data));
  return 0;
}
)"};
  CandidateProfiles made;
  const auto compiled = CompileWithLines(made, module, problem_, device_, "");
  ASSERT_TRUE(compiled) << compiled.error().message;
  const auto kernels = SampledKernelsOf(made, module, {});
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_NE(Describe(kernels[0]).find("line 3: y[threadIdx.x] *= 2;"), std::string::npos) << Describe(kernels[0]);
}

}  // namespace
}  // namespace hone
