#include "target/cuda/built_plan.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "base/files.h"
#include "target/cuda/nvrtc.h"
#include "target/shipped_model.h"

namespace hone::cuda {
namespace {

const MultiprocessorLimits kLimits = TypicalDevice().limits;  // of Hopper

// Registers a thread, threads a block and shared memory against the occupancy calculator of the CUDA documentation.
TEST(OccupancyTest, TheScarcestResourceLimits) {
  KernelFacts kernel;
  kernel.registers = 32;
  EXPECT_EQ(OccupancyOf(kernel, 256, 0, kLimits).blocks, 8);
  EXPECT_EQ(OccupancyOf(kernel, 256, 0, kLimits).limit, "registers");  // as scarce as warps, and named first
  kernel.registers = 168;
  EXPECT_EQ(OccupancyOf(kernel, 384, 0, kLimits).blocks, 1);
  EXPECT_EQ(OccupancyOf(kernel, 384, 0, kLimits).limit, "registers");
  kernel.registers = 16;
  EXPECT_EQ(OccupancyOf(kernel, 32, 0, kLimits).blocks, 32);
  EXPECT_EQ(OccupancyOf(kernel, 32, 0, kLimits).limit, "blocks");
  EXPECT_EQ(OccupancyOf(kernel, 128, 100 << 10, kLimits).blocks, 2);
  EXPECT_EQ(OccupancyOf(kernel, 128, 100 << 10, kLimits).limit, "shared memory");
  kernel.registers = 255;
  EXPECT_EQ(OccupancyOf(kernel, 1024, 0, kLimits).blocks, 0);
}

class BuiltPlanTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto version = NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
    folder_ = std::make_unique<TempDirectory>(*TempDirectory::Create("plan"));
    setenv("HONE_CACHE", folder_->path().c_str(), 1);
    problem_.tensors = {{.name = "x", .shape = {64, 128}, .role = Role::kInput},
                        {.name = "w", .shape = {128}, .role = Role::kParameter},
                        {.name = "y", .shape = {64, 128}, .role = Role::kOutput}};
    plan_.sources = {{"scale.cu",
                      R"(
extern "C" __global__ void __launch_bounds__(256) scale(const float* x, const float* w, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * w[i % 128];
}
struct __align__(64) Map { char bytes[128]; };
template <int N> __global__ void mapped(const __grid_constant__ Map map, float* y) { y[N] = map.bytes[3]; }
)",
                      {}}};
    plan_.steps = {LaunchStep{.kernel = "scale",
                              .grid = {32, 1, 1},
                              .block = {256, 1, 1},
                              .arguments = {BufferArgument{"x"}, BufferArgument{"w"}, BufferArgument{"y"},
                                            NumberArgument{NumberArgument::Type::kI32, std::int64_t{8192}}}}};
  }
  void TearDown() override { unsetenv("HONE_CACHE"); }

  LaunchStep& launch() { return std::get<LaunchStep>(plan_.steps[0]); }
  std::string Refusal(std::string_view device = "h200") const {
    const auto built = BuildPlan(plan_, problem_, FindShippedModel(device).value());
    if (!built) return built.error().message;
    const auto* refusal = std::get_if<PlanRefusal>(&*built);
    return refusal ? refusal->where + ": " + refusal->message : "built";
  }

  std::unique_ptr<TempDirectory> folder_;
  Problem problem_;
  Plan plan_;
};

TEST_F(BuiltPlanTest, AGoodPlanHasTheFactsOfItsLaunches) {
  const auto built = BuildPlan(plan_, problem_, TypicalDevice());
  ASSERT_TRUE(built) << built.error().message;
  const auto* plan = std::get_if<BuiltPlan>(&*built);
  ASSERT_NE(plan, nullptr) << Refusal();
  ASSERT_EQ(plan->launches.size(), 1u);
  EXPECT_EQ(plan->launches[0].parameters.size(), 4u);
  EXPECT_EQ(plan->cubins.size(), 1u);
}

TEST_F(BuiltPlanTest, WhatFollowsALaunchAndWaitsFirstBeginsEarly) {
  plan_.buffers = {{"b", DType::kF32, {4}}};
  plan_.sources[0].text += R"(
extern "C" __global__ void waits(const float* x, float* y) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  y[threadIdx.x] += x[threadIdx.x];
}
extern "C" __global__ void late(const float* x, float* y) {
  y[threadIdx.x] += x[threadIdx.x];
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
)";
  const auto add = [&](const char* kernel) {
    plan_.steps.push_back(
        LaunchStep{.kernel = kernel, .block = {64, 1, 1}, .arguments = {BufferArgument{"x"}, BufferArgument{"y"}}});
  };
  plan_.steps.clear();
  for (const char* kernel : {"waits", "waits", "late", "waits"}) add(kernel);
  plan_.steps.push_back(MemsetStep{"b", 0});
  for (const char* kernel : {"waits", "waits"}) add(kernel);
  const auto built = BuildPlan(plan_, problem_, TypicalDevice());
  ASSERT_TRUE(built) << built.error().message;
  const auto* plan = std::get_if<BuiltPlan>(&*built);
  ASSERT_NE(plan, nullptr) << Refusal();
  const std::vector<bool> early = {false, true, false, true, false, false, true};
  EXPECT_EQ(plan->early, early);
  const auto again = Unpack(Pack(*plan));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->early, early);
}

TEST_F(BuiltPlanTest, KernelsThatAreApartAreInSeveralCubins) {
  // Two kernels, the second of which calls what stands between them where that is `between`.
  const auto given = [&](const std::string& before, const std::string& between) {
    const std::string long_comment(40'000, '/');
    plan_.sources = {{"two.cu",
                      before + "\nextern \"C\" __global__ void first(float* y) {\n" + long_comment +
                          "\n  y[0] = 1;\n}\n" + between +
                          "\nextern \"C\" __global__ void second(const float* x, float* y) {\n" + long_comment +
                          "\n  y[0] = Once(x[0]);\n}\n",
                      {},
                      true}};
    plan_.steps = {
        LaunchStep{.kernel = "second", .block = {32, 1, 1}, .arguments = {BufferArgument{"x"}, BufferArgument{"y"}}},
        LaunchStep{.kernel = "first", .block = {32, 1, 1}, .arguments = {BufferArgument{"y"}}}};
    return BuildPlan(plan_, problem_, TypicalDevice());
  };
  const std::string once = "__device__ float Once(float x) { return x + 1; }";
  for (const bool apart : {true, false}) {
    const auto built = apart ? given(once, "") : given("", once);
    ASSERT_TRUE(built) << built.error().message;
    const auto* plan = std::get_if<BuiltPlan>(&*built);
    ASSERT_NE(plan, nullptr) << Refusal();
    EXPECT_EQ(plan->cubins.size(), apart ? 2u : 1u);
    ASSERT_EQ(plan->launches.size(), 2u);
    EXPECT_EQ(plan->launches[0].name, "second");
    EXPECT_EQ(plan->launches[1].name, "first");
    EXPECT_EQ(std::get<LaunchStep>(plan->plan.steps[0]).source, apart ? 1u : 0u);
    EXPECT_TRUE(Unpack(Pack(*plan)));
  }
  const auto wrong = given("", "\n");
  ASSERT_TRUE(wrong) << wrong.error().message;
  const auto* refusal = std::get_if<PlanRefusal>(&*wrong);
  ASSERT_NE(refusal, nullptr);
  EXPECT_EQ(refusal->where, "two.cu");
  EXPECT_EQ(refusal->line, 10);
  EXPECT_NE(refusal->message.find("Once"), std::string::npos);
}

TEST_F(BuiltPlanTest, ACompileErrorHasItsSourceAndLine) {
  plan_.sources[0].text = "\n\nextern \"C\" __global__ void scale() { nothing(); }";
  const auto built = BuildPlan(plan_, problem_, TypicalDevice());
  ASSERT_TRUE(built);
  const auto* refusal = std::get_if<PlanRefusal>(&*built);
  ASSERT_NE(refusal, nullptr);
  EXPECT_TRUE(refusal->compile_error);
  EXPECT_EQ(refusal->where, "scale.cu");
  EXPECT_EQ(refusal->line, 3);
}

TEST_F(BuiltPlanTest, ArgumentsThatDoNotFitAreRefusedBeforeALaunch) {
  launch().arguments.pop_back();
  EXPECT_EQ(Refusal(), "/steps/0: 'scale' has 4 parameters, the step gives 3 arguments");
  launch().arguments.push_back(NumberArgument{NumberArgument::Type::kI64, std::int64_t{8192}});
  EXPECT_EQ(Refusal(), "/steps/0/arguments/3: parameter 3 of 'scale' has 4 bytes, the argument 8");
  launch().arguments[0] = BufferArgument{"xx"};
  EXPECT_EQ(Refusal(), "/steps/0/arguments/0: neither the problem nor the plan has 'xx'; did you mean 'x'?");
  launch().arguments[0] = BufferArgument{"x", 8192};
  EXPECT_EQ(Refusal(), "/steps/0/arguments/0: offset 8192 is beyond 'x', which has 8192 elements");
}

TEST_F(BuiltPlanTest, ALaunchThatTheDeviceCannotTakeIsRefused) {
  launch().block = {512, 1, 1};
  EXPECT_EQ(Refusal(), "/steps/0: a block of 512 threads, but scale is compiled for at most 256 (__launch_bounds__)");
  launch().block = {256, 1, 1};
  launch().shared_bytes = 228 << 10;
  EXPECT_EQ(Refusal(), "/steps/0: 233472 bytes of shared memory (0 static, 233472 dynamic): 232448 is the most");
  launch().shared_bytes = 0;
  launch().grid = {4096, 1, 1};
  launch().together = 132 * 8;
  EXPECT_EQ(Refusal(), "built");
  launch().together = 132 * 8 + 1;
  EXPECT_EQ(
      Refusal(),
      "/steps/0: 1057 blocks of 'scale' wait for each other, and NVIDIA H200 holds 1056 of them at once: it would "
      "never end");
  launch().together = 1;
  launch().kernel = "scala";
  EXPECT_EQ(Refusal(),
            "/steps/0: scale.cu has no kernel 'scala'; did you mean 'scale'?; an extern \"C\" kernel keeps its name");
}

TEST_F(BuiltPlanTest, APlanIsForTheDeviceThatItIsBuiltFor) {
  const auto built = BuildPlan(plan_, problem_, FindShippedModel("l40s").value());
  ASSERT_TRUE(built) << built.error().message;
  EXPECT_EQ(std::get<BuiltPlan>(*built).plan.arch, "sm_89");
  plan_.arch = "sm_80";
  EXPECT_EQ(Refusal("l40s"), "built");
  EXPECT_EQ(Refusal("h200"),
            "/arch: the plan is compiled for sm_80, and NVIDIA H200 is sm_90a: leave out arch, or name that");
  launch().cluster = {2, 1, 1};
  EXPECT_EQ(Refusal("a100"), "/steps/0: a cluster of 2 blocks: 1 is the most");
  launch().cluster = {1, 1, 1};
  launch().together = 108 * 8 + 1;
  EXPECT_EQ(Refusal("a100"),
            "/steps/0: 865 blocks of 'scale' wait for each other, and NVIDIA A100-SXM4-80GB holds 864 of them at once: "
            "it would never end");
  launch().together = 1;
  launch().kernel = "mapped<3>";
  launch().arguments = {TensorMapArgument{"x", 0, {64, 128}, {128, 1}, {8, 32}, 128}, BufferArgument{"y"}};
  EXPECT_EQ(Refusal("a100"), "/steps/0/arguments/0: NVIDIA A100-SXM4-80GB (sm_80) has no tensor maps");
}

TEST_F(BuiltPlanTest, PrepareSeesParametersAndBuffersOnly) {
  plan_.buffers = {{"part", DType::kF32, {128}}};
  plan_.prepare = {MemsetStep{"part", 0}, MemsetStep{"y", 0}};
  EXPECT_EQ(Refusal(), "/prepare/1: 'y' is not there yet when a plan prepares: parameters and buffers are");
  plan_.prepare.pop_back();
  EXPECT_EQ(Refusal(), "built");
  plan_.steps.insert(plan_.steps.begin(), MemsetStep{"x", 0});
  EXPECT_EQ(Refusal(), "/steps/0: 'x' is read only: set a buffer or an output");
}

class LibraryPlanTest : public BuiltPlanTest {
 protected:
  void SetUp() override {
    problem_.tensors = {{.name = "x", .shape = {64, 128}, .role = Role::kInput},
                        {.name = "w", .shape = {32, 128}, .role = Role::kParameter},
                        {.name = "b", .shape = {32}, .role = Role::kParameter},
                        {.name = "h", .shape = {32}, .dtype = DType::kF16, .role = Role::kParameter},
                        {.name = "y", .shape = {64, 32}, .role = Role::kOutput}};
    plan_.buffers = {{"ws", DType::kU8, {1024}}};
  }
};

TEST_F(LibraryPlanTest, AProductThatDoesNotFitItsTensorsIsRefused) {
  MatmulStep step{.m = 64, .n = 32, .k = 128};
  step.a = {"x", 0, {128, 1}, 0};
  step.b = {"w", 0, {1, 128}, 0};
  step.d = {"y", 0, {32, 1}, 0};
  step.bias = BufferArgument{"b", 0};
  step.workspace = "ws";
  const auto with = [&](auto change) {
    MatmulStep changed = step;
    change(changed);
    plan_.steps = {changed};
    return Refusal();
  };
  EXPECT_EQ(with([](MatmulStep&) {}), "built");
  EXPECT_EQ(with([](MatmulStep& s) { s.m = 65; }), "/steps/0/a: it reaches element 8319 of 'x', which has 8192");
  EXPECT_EQ(with([](MatmulStep& s) { s.a.strides = {128, 2}; }),
            "/steps/0/a: strides 128 and 2 of a 64 x 128 matrix: one is 1, the other 128 or 64 at least");
  EXPECT_EQ(with([](MatmulStep& s) { s.d.buffer = "x"; }), "/steps/0/d: 'x' is read only: set a buffer or an output");
  EXPECT_EQ(with([](MatmulStep& s) { s.bias->name = "h"; }), "/steps/0/bias: 'h' is f16 and what is written f32");
  EXPECT_EQ(with([](MatmulStep& s) { s.bias->offset = 1; }),
            "/steps/0/bias: it reaches element 32 of 'b', which has 32");
  EXPECT_EQ(with([](MatmulStep& s) { s.workspace = "y"; }), "/steps/0/workspace: a workspace is a buffer of the plan");
  EXPECT_EQ(with([](MatmulStep& s) { s.compute = LibraryCompute::kF64; }),
            "/steps/0: f32 goes with \"compute\": \"f32\"");
}

TEST_F(LibraryPlanTest, AConvolutionThatDoesNotFitItsTensorsIsRefused) {
  ConvolutionStep step;
  step.x = {"x", 0, {2, 4, 32, 32}, {4096, 1024, 32, 1}};
  step.w = {"w", 0, {2, 4, 3, 3}, {36, 9, 3, 1}};
  step.y = {"y", 0, {2, 2, 16, 16}, {512, 256, 16, 1}};
  step.stride = {2, 2};
  step.padding = {1, 1};
  step.dilation = {1, 1};
  const auto with = [&](auto change) {
    ConvolutionStep changed = step;
    change(changed);
    plan_.steps = {changed};
    return Refusal();
  };
  EXPECT_EQ(with([](ConvolutionStep&) {}), "built");
  EXPECT_EQ(with([](ConvolutionStep& s) { s.groups = 2; }),
            "/steps/0/w: 2 x 4 filters in 2 groups do not go from 4 to 2 channels");
  EXPECT_EQ(with([](ConvolutionStep& s) { s.padding = {1, 0}; }),
            "/steps/0/y: extent 16 along spatial dimension 1: it would be 15");
  EXPECT_EQ(with([](ConvolutionStep& s) { s.w.strides = {36, 9, 1, 3}; }),
            "/steps/0/w: filters lie densely, or with their channels last");
  EXPECT_EQ(with([](ConvolutionStep& s) { s.activation = Activation::kRelu; }),
            "/steps/0: an activation goes with a bias: one of zeros will do");
  EXPECT_EQ(with([](ConvolutionStep& s) { s.compute = LibraryCompute::kF16; }),
            "/steps/0: cuDNN makes products of f32 in f32 or tf32");
}

TEST_F(BuiltPlanTest, ATensorMapStaysInsideItsTensor) {
  TensorMapArgument map{"x", 0, {64, 128}, {128, 1}, {8, 32}, 128};
  const auto with = [&](TensorMapArgument changed) {
    launch().kernel = "mapped<3>";
    launch().arguments = {std::move(changed), BufferArgument{"y"}};
    return Refusal();
  };
  EXPECT_EQ(with(map), "built");
  map.shape = {65, 128};
  EXPECT_EQ(with(map), "/steps/0/arguments/0: the map reaches element 8319 of 'x', which has 8192");
  map.shape = {64, 127};
  map.strides = {127, 1};
  EXPECT_EQ(with(map), "/steps/0/arguments/0: stride 127 of 'x' is 508 bytes: the copy engine wants a multiple of 16");
  map = {"x", 0, {64, 128}, {128, 1}, {8, 64}, 128};
  EXPECT_EQ(with(map), "/steps/0/arguments/0: a row of the box has 256 bytes, more than the swizzle's 128");
  map = {"x", 0, {2, 8, 16, 32}, {4096, 512, 32, 1}, {64, 32}, 128};
  map.pixels = PixelWalk{.lower = {-1, -1}, .upper = {-1, -1}, .stride = {1, 1}};
  EXPECT_EQ(with(map), "built");
  map.pixels->upper[1] = 128;
  EXPECT_EQ(with(map), "/steps/0/arguments/0: pixels from -1 to 128: the copy engine wants both from -128 to 127 here");
  map.pixels->upper = {-9, 0};
  EXPECT_EQ(with(map), "/steps/0/arguments/0: there are no pixels from -1 to -2 along spatial dimension 0");
}

}  // namespace
}  // namespace hone::cuda
