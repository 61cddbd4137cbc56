// Plans on a device: honest ones are accepted and timed, those of tests/data/hostile_cuda are refused for the right
// reason, and leave the next evaluation unharmed. Skipped where there is no device.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>

#include "base/files.h"
#include "candidate/plan.h"
#include "evaluate/certify.h"
#include "evaluate/local_evaluator.h"
#include "evaluate/testing/scaled_relu.h"
#include "target/cuda/driver.h"
#include "target/cuda/nvrtc.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

LaunchStep Launch(std::string kernel, std::vector<PlanArgument> arguments) {
  return {.kernel = std::move(kernel), .grid = {512, 1, 1}, .block = {256, 1, 1}, .arguments = std::move(arguments)};
}

Candidate Of(const Plan& plan) { return {.kind = CandidateKind::kPlan, .text = ToJson(plan)}; }

Plan FromSource(std::string source) {
  Plan plan;
  plan.sources = {{"kernel.cu", std::move(source), {}}};
  plan.steps = {Launch("kernel", {BufferArgument{"x"}, BufferArgument{"w"}, BufferArgument{"y"}})};
  return plan;
}

std::string HostileFolder() { return DataFolder("hostile_cuda"); }

class PlanEvaluatorTest : public testing::Test {
 protected:
  static Evaluator& Shared() {
    static std::unique_ptr<Evaluator> evaluator = [] {
      EvaluatorOptions options;
      options.program = fs::read_symlink("/proc/self/exe").parent_path() / "evaluate_processes";
      options.call_wall = std::chrono::milliseconds(1500);
      auto started = StartEvaluator(ScaledRelu(), std::move(options));
      EXPECT_TRUE(started) << started.error().message;
      return std::move(*started);
    }();
    return *evaluator;
  }

  static Evaluation Evaluate(const Candidate& candidate, bool time = false, bool certify = false) {
    auto evaluation = Shared().Evaluate(
        candidate,
        {.time = time, .timing_budget = std::chrono::milliseconds(300), .baselines = {}, .certify = certify});
    EXPECT_TRUE(evaluation) << evaluation.error().message;
    return evaluation ? std::move(*evaluation) : Evaluation{};
  }
};

class PlanOnDeviceTest : public PlanEvaluatorTest {
 protected:
  void SetUp() override {
    if (const auto version = cuda::NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
    if (const auto devices = cuda::FindDevices(); !devices) GTEST_SKIP() << devices.error().message;
  }
};

TEST_F(PlanEvaluatorTest, WhatIsNoPlanIsInvalidWithItsPlace) {
  const auto evaluation = Evaluate({.kind = CandidateKind::kPlan, .text = R"({"hone_plan": 1, "sources": []})"});
  EXPECT_EQ(evaluation.verdict.outcome, Outcome::kInvalid);
  EXPECT_FALSE(evaluation.verdict.reason.empty());
}

TEST_F(PlanEvaluatorTest, ASourceThatDoesNotCompileIsRefusedWithItsLine) {
  if (const auto version = cuda::NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
  const auto evaluation = Evaluate(Of(FromSource("\nextern \"C\" __global__ void kernel() { return 1; }\n")));
  EXPECT_EQ(evaluation.verdict.outcome, Outcome::kCompileError);
  EXPECT_EQ(evaluation.verdict.evidence->line, 2);
}

TEST_F(PlanOnDeviceTest, EveryHostileKernelIsRefusedForItsReason) {
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(HostileFolder())) files.push_back(file.path());
  std::sort(files.begin(), files.end());
  ASSERT_GT(files.size(), 10u);
  for (const auto& file : files) {
    const auto source = ReadFile(file);
    ASSERT_TRUE(source);
    const std::string expected = source->substr(3, source->find('\n') - 3);
    const auto evaluation = Evaluate(Of(FromSource(*source)));
    std::cout << file.stem().string() << " | " << Name(evaluation.verdict.outcome) << " | " << evaluation.verdict.reason
              << " | " << evaluation.how->stages.check_ms << " ms check\n";
    EXPECT_EQ(Name(evaluation.verdict.outcome), expected) << file.filename() << ": " << evaluation.verdict.reason;
    if (expected != "accepted") {
      EXPECT_FALSE(evaluation.verdict.reason.empty()) << file.filename();
    }
  }
  const auto honest = ReadFile(HostileFolder() + "/honest.cu");
  EXPECT_TRUE(Evaluate(Of(FromSource(*honest))).verdict.accepted());
}

// A worker serves one plan after the other: a buffer that has never been written holds nothing of the plan before.
TEST_F(PlanOnDeviceTest, APlanFindsNothingOfTheOneBefore) {
  const auto with_buffer = [](std::string body) {
    Plan plan = FromSource(
        "extern \"C\" __global__ void kernel(const float* x, const float* w, float* y, float* kept) {\n"
        "  for (int i = blockIdx.x * 256 + threadIdx.x; i < 512 * 1024; i += 512 * 256) {" +
        std::move(body) + "}\n}\n");
    plan.buffers = {{"kept", DType::kF32, {512 * 1024}}};
    plan.steps = {
        Launch("kernel", {BufferArgument{"x"}, BufferArgument{"w"}, BufferArgument{"y"}, BufferArgument{"kept"}})};
    return Of(plan);
  };
  const auto honest = with_buffer("kept[i] = y[i] = fmaxf(x[i] * w[i % 1024], 0);");
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(Evaluate(honest, true).verdict.accepted());
    const auto thief = Evaluate(with_buffer("y[i] = kept[i];"));
    EXPECT_EQ(thief.verdict.outcome, Outcome::kNonfinite) << thief.verdict.reason;
  }
}

// It keeps its inputs and outputs in buffers, and takes its time only for rows in which anything is new.
TEST_F(PlanOnDeviceTest, APlanThatComputesOnlyWhatChangedIsRefused) {
  Plan plan = FromSource(R"(
extern "C" __global__ void __launch_bounds__(1024) kernel(const float* x, const float* w, float* y, float* kept_x, float* kept_y) {
  __shared__ int changed;
  for (int row = blockIdx.x; row < 512; row += gridDim.x) {
    if (threadIdx.x == 0) changed = 0;
    __syncthreads();
    const int i = row * 1024 + threadIdx.x;
    if (x[i] != kept_x[i]) changed = 1;
    __syncthreads();
    if (changed) {
      const long long begin = clock64();
      while (clock64() - begin < 100000) {
      }
      kept_x[i] = x[i];
      kept_y[i] = x[i];
    }
    y[i] = fmaxf(kept_y[i] * w[threadIdx.x], 0.0f);
    __syncthreads();
  }
}
)");
  plan.buffers = {{"kept_x", DType::kF32, {512 * 1024}}, {"kept_y", DType::kF32, {512 * 1024}}};
  plan.steps = {Launch("kernel", {BufferArgument{"x"}, BufferArgument{"w"}, BufferArgument{"y"},
                                  BufferArgument{"kept_x"}, BufferArgument{"kept_y"}})};
  std::get<LaunchStep>(plan.steps[0]).grid = {64, 1, 1};
  std::get<LaunchStep>(plan.steps[0]).block = {1024, 1, 1};
  const auto evaluation = Evaluate(Of(plan), true);
  EXPECT_EQ(evaluation.verdict.outcome, Outcome::kSuspicious) << evaluation.verdict.reason;
  EXPECT_NE(evaluation.verdict.reason.find("it computes only what changed"), std::string::npos)
      << evaluation.verdict.reason;
}

// 32 MiB, which is half of the second-level cache of a large device: what was written right before is read more slowly
// than what a call before has read.
TEST_F(PlanOnDeviceTest, WhoReadsHalfACacheOfNewInputsIsAccepted) {
  const auto problem = ParseProblem(R"({
  "hone_problem": 1, "name": "column maxima", "contract": "fp32",
  "tensors": [
    {"name": "x", "shape": [4096, 2048], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
    {"name": "y", "shape": [2048], "dtype": "f32", "role": "output"}
  ],
  "graph": [{"op": "aten.amax", "args": {"self": "%x", "dim": [0], "keepdim": false}, "outputs": ["y"]}]
})",
                                    "test");
  ASSERT_TRUE(problem) << problem.error().message;
  EvaluatorOptions options;
  options.program = fs::read_symlink("/proc/self/exe").parent_path() / "evaluate_processes";
  const auto evaluator = StartEvaluator(*problem, std::move(options));
  ASSERT_TRUE(evaluator) << evaluator.error().message;
  Plan plan;
  plan.sources = {{"kernel.cu",
                   R"(
extern "C" __global__ void partial(const float* x, float* part) {
  const int column = blockIdx.x % 16 * 128 + threadIdx.x, rows = blockIdx.x / 16 * 128;
  float most = x[rows * 2048 + column];
#pragma unroll 16
  for (int row = rows + 1; row < rows + 128; ++row) most = fmaxf(most, x[row * 2048 + column]);
  part[blockIdx.x / 16 * 2048 + column] = most;
}
extern "C" __global__ void whole(const float* part, float* y) {
  const int column = blockIdx.x * 128 + threadIdx.x;
  float most = part[column];
  for (int i = 1; i < 32; ++i) most = fmaxf(most, part[i * 2048 + column]);
  y[column] = most;
}
)",
                   {}}};
  plan.buffers = {{"part", DType::kF32, {32, 2048}}};
  plan.steps = {Launch("partial", {BufferArgument{"x"}, BufferArgument{"part"}}),
                Launch("whole", {BufferArgument{"part"}, BufferArgument{"y"}})};
  std::get<LaunchStep>(plan.steps[1]).grid = {16, 1, 1};
  for (auto& step : plan.steps) std::get<LaunchStep>(step).block = {128, 1, 1};
  const auto evaluation = (*evaluator)->Evaluate(Of(plan), {.timing_budget = std::chrono::seconds(1), .baselines = {}});
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  EXPECT_TRUE(evaluation->verdict.accepted()) << evaluation->verdict.reason;
}

TEST_F(PlanOnDeviceTest, WhoIsClearlySlowerThanTheFastestIsTimedLess) {
  const auto honest = Of(FromSource(*ReadFile(HostileFolder() + "/honest.cu")));
  EvaluateRequest request{.timing_budget = std::chrono::milliseconds(300), .baselines = {}};
  const auto whole = Shared().Evaluate(honest, request);
  request.best_us = 0.01;
  const auto early = Shared().Evaluate(honest, request);
  ASSERT_TRUE(whole && early && whole->timing && early->timing);
  EXPECT_FALSE(whole->timing->ended_early);
  EXPECT_TRUE(early->timing->ended_early);
  EXPECT_LT(early->timing->warm.count, whole->timing->warm.count);
}

// Accepted by its outputs, and refused for what compute-sanitizer sees.
TEST_F(PlanOnDeviceTest, WhatComputeSanitizerFindsIsRefused) {
  if (const auto version = SanitizerVersion(); !version) GTEST_SKIP() << version.error().message;
  for (const auto& file : fs::directory_iterator(DataFolder("certified_cuda"))) {
    const auto source = ReadFile(file.path());
    ASSERT_TRUE(source);
    const std::string expected = source->substr(3, source->find('\n') - 3);
    EXPECT_TRUE(Evaluate(Of(FromSource(*source))).verdict.accepted()) << file.path();
    const auto evaluation = Evaluate(Of(FromSource(*source)), false, true);
    std::cout << file.path().stem().string() << " | " << Name(evaluation.verdict.outcome) << " | "
              << evaluation.verdict.reason << '\n';
    for (const auto& line : evaluation.how->certificate) std::cout << "  " << line << '\n';
    EXPECT_EQ(Name(evaluation.verdict.outcome), expected) << file.path() << ": " << evaluation.verdict.reason;
    EXPECT_FALSE(evaluation.how->certificate.empty());
  }
}

TEST_F(PlanOnDeviceTest, WhatHoldsTheCacheIsColdAllTheSame) {
  const auto honest = Evaluate(Of(FromSource(*ReadFile(HostileFolder() + "/honest.cu"))), true);
  const auto holds = Evaluate(Of(FromSource(*ReadFile(HostileFolder() + "/holds_the_cache.cu"))), true);
  ASSERT_TRUE(honest.timing && holds.timing) << honest.verdict.reason << holds.verdict.reason;
  std::cout << "cold: honest " << honest.timing->cold.median_us << " us, holds the cache "
            << holds.timing->cold.median_us << " us\n";
  EXPECT_GT(holds.timing->cold.median_us, 0.8 * honest.timing->cold.median_us);
}

TEST_F(PlanOnDeviceTest, AnHonestPlanIsTimed) {
  const auto evaluation = Evaluate(Of(FromSource(*ReadFile(HostileFolder() + "/honest.cu"))), true);
  ASSERT_TRUE(evaluation.verdict.accepted()) << evaluation.verdict.reason;
  ASSERT_TRUE(evaluation.timing);
  EXPECT_GT(evaluation.timing->warm.median_us, 0.5);
  EXPECT_LT(evaluation.timing->warm.median_us, 100);
  EXPECT_GE(evaluation.timing->cold.median_us, evaluation.timing->warm.median_us * 0.8);
}

// Each kernel begins while the one before it still writes, the last blocks of that late, and needs what those write.
TEST_F(PlanOnDeviceTest, WhoBeginsEarlySeesAllThatWasBefore) {
  Plan plan;
  plan.sources = {{"chain.cu",
                   R"(
__device__ void Await() {
  asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
}
extern "C" __global__ void __launch_bounds__(256) scale(const float* x, const float* w, float* a) {
  Await();
  if (blockIdx.x > 400) __nanosleep(20000);
  for (int i = blockIdx.x * 256 + threadIdx.x; i < 512 * 1024; i += 512 * 256) a[i] = x[i] * w[i % 1024];
}
extern "C" __global__ void __launch_bounds__(256) turn(const float* a, float* b) {
  Await();
  if (blockIdx.x > 400) __nanosleep(20000);
  for (int i = blockIdx.x * 256 + threadIdx.x; i < 512 * 1024; i += 512 * 256) b[i] = a[512 * 1024 - 1 - i];
}
extern "C" __global__ void __launch_bounds__(256) kernel(const float* b, float* y) {
  Await();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < 512 * 1024; i += 512 * 256) {
    const float value = b[512 * 1024 - 1 - i];
    y[i] = value > 0 ? value : value == value ? 0.0f : value;
  }
}
)",
                   {}}};
  plan.buffers = {{"a", DType::kF32, {512 * 1024}}, {"b", DType::kF32, {512 * 1024}}};
  plan.steps = {Launch("scale", {BufferArgument{"x"}, BufferArgument{"w"}, BufferArgument{"a"}}),
                Launch("turn", {BufferArgument{"a"}, BufferArgument{"b"}}),
                Launch("kernel", {BufferArgument{"b"}, BufferArgument{"y"}})};
  const auto evaluation = Evaluate(Of(plan), true);
  EXPECT_TRUE(evaluation.verdict.accepted()) << evaluation.verdict.reason << "\n" << evaluation.verdict.evidence->log;
  ASSERT_TRUE(evaluation.timing);
  EXPECT_GT(evaluation.timing->warm.median_us, 40);  // what the sleepers take, one after the other
}

TEST_F(PlanOnDeviceTest, PrepareBuffersTemplatesAndTensorMapsWork) {
  Plan plan;
  plan.sources = {{"tma.cu",
                   R"(
struct __align__(64) Map { char bytes[128]; };
template <int N> __global__ void twice(const float* w, float* packed) {
  for (int i = threadIdx.x; i < N; i += blockDim.x) packed[i] = w[i] + packed[i];
}
extern "C" __global__ void __launch_bounds__(256) scale(const __grid_constant__ Map map, const float* packed, float* y) {
  __shared__ alignas(128) float tile[8 * 32];
  __shared__ alignas(8) unsigned long long full;
  const unsigned bar = static_cast<unsigned>(__cvta_generic_to_shared(&full));
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  const int column = blockIdx.x * 32, row = blockIdx.y * 8;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar));
    asm volatile("fence.proxy.async.shared::cta;");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(8 * 32 * 4));
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
        "l"(&map), "r"(column), "r"(row), "r"(bar)
        : "memory");
  }
  __syncthreads();
  unsigned done = 0;
  while (!done)
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
        : "=r"(done)
        : "r"(bar)
        : "memory");
  const int r = threadIdx.x / 32, c = threadIdx.x % 32;
  y[(row + r) * 1024 + column + c] = fmaxf(tile[r * 32 + c] * packed[column + c], 0.0f);
}
)",
                   {}}};
  plan.buffers = {{"packed", DType::kF32, {1024}}};
  LaunchStep pack = Launch("twice<1024>", {BufferArgument{"w"}, BufferArgument{"packed"}});
  pack.grid = {1, 1, 1};
  plan.prepare = {MemsetStep{"packed", 0}, pack};
  LaunchStep scale = Launch("scale", {TensorMapArgument{"x", 0, {512, 1024}, {1024, 1}, {8, 32}, 0},
                                      BufferArgument{"packed"}, BufferArgument{"y"}});
  scale.grid = {32, 64, 1};
  scale.cluster = {2, 1, 1};
  plan.steps = {scale};
  const auto evaluation = Evaluate(Of(plan), true);
  EXPECT_TRUE(evaluation.verdict.accepted()) << evaluation.verdict.reason << "\n" << evaluation.verdict.evidence->log;
  ASSERT_TRUE(evaluation.timing);
  EXPECT_GT(evaluation.timing->prepare_us, 0);
  EXPECT_TRUE(evaluation.timing->launched == "graph" || evaluation.timing->launched == "stream");
}

}  // namespace
}  // namespace hone
