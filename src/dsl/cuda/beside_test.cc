// Launches that do not need each other: which are made one, that none passes what it needs, and that they compute what
// the program says. The last is skipped where there is no device.
#include "dsl/cuda/beside.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::KernelProgram;

constexpr std::string_view kTensors =
    "input x: bf16[4, 1024]\nparam u: bf16[256, 1024]\nparam v: bf16[256, 1024]\nparam w: bf16[320, 1024]\n"
    "view ut = u: [1024, 256] strides [1, 1024]\nview vt = v: [1024, 256] strides [1, 1024]\n"
    "view wt = w: [1024, 320] strides [1, 1024]\n";
const std::string kRows = " with {precision: rows, split: 2, warps: 4}\n";

class BesideTest : public testing::CudaProgramTest {
 protected:
  Plan PlanOf(const std::string& text) {
    const auto lowered = Lowered(std::string(kTensors) + text);
    const auto* program = std::get_if<KernelProgram>(&lowered);
    EXPECT_NE(program, nullptr) << ToString(std::get<dsl::Complaint>(lowered));
    if (program == nullptr) return {};
    Build(*program);  // it compiles, and its launches fit
    return dsl::EmitCuda(*program);
  }
  // "kernel blocks" of each launch.
  static std::vector<std::string> Launches(const Plan& plan) {
    std::vector<std::string> lines;
    for (const PlanStep& step : plan.steps) {
      const auto& launch = std::get<LaunchStep>(step);
      lines.push_back(launch.kernel + " " + std::to_string(launch.grid[0]));
    }
    return lines;
  }
};
using BesideOnDeviceTest = testing::ProgramOnDeviceTest;
using Lines = std::vector<std::string>;

TEST_F(BesideTest, ProductsOfOneOperandAreOneLaunchAndTheirSumsAnother) {
  const Plan plan =
      PlanOf("output y: bf16[4, 256]\noutput z: bf16[4, 320]\ny = matmul(x, ut)" + kRows + "z = matmul(x, wt)" + kRows);
  EXPECT_EQ(Launches(plan), (Lines{"beside_t_y_rows 72", "beside_t_y_sums 9"}));
  EXPECT_EQ(CountOf(plan.sources.at(0).text, "__global__"), 2);
}

TEST_F(BesideTest, TheSameKernelWithOtherBuffersIsWrittenOnce) {
  const Plan plan =
      PlanOf("output y: bf16[4, 256]\noutput z: bf16[4, 256]\ny = matmul(x, ut)" + kRows + "z = matmul(x, vt)" + kRows);
  EXPECT_EQ(Launches(plan), (Lines{"beside_t_y_rows 64", "beside_t_y_sums 8"}));
  EXPECT_EQ(CountOf(plan.sources.at(0).text, "block_t_y_rows(const unsigned"), 1);
  EXPECT_EQ(CountOf(plan.sources.at(0).text, "block_t_y_rows(blockIdx.x"), 2);
}

TEST_F(BesideTest, StaticSharedMemoryOfDifferentKernelsAddsUp) {
  const auto launches = [&](std::vector<std::int64_t> shared, bool one_kernel) {
    std::vector<PlanStep> steps;
    std::vector<dsl::StepUse> uses;
    std::vector<dsl::KernelText> kernels;
    for (std::size_t i = 0; i < shared.size(); ++i) {
      const std::string name = one_kernel ? "k" : "k" + std::to_string(i);
      steps.push_back(LaunchStep{.kernel = name, .grid = {8, 1, 1}, .block = {128, 1, 1}});
      uses.push_back({.writes = {std::to_string(i)}, .known = true, .aside = true, .static_shared_bytes = shared[i]});
      kernels.push_back({.comment = "", .name = name, .bounds = "128", .parameters = {}, .body = ""});
    }
    dsl::JoinLaunches(steps, uses, kernels, TypicalDevice());
    return steps.size();
  };
  EXPECT_EQ(launches({20 << 10, 20 << 10}, false), 1u);
  EXPECT_EQ(launches({20 << 10, 20 << 10, 20 << 10}, false), 2u);
  EXPECT_EQ(launches({20 << 10, 20 << 10, 20 << 10}, true), 1u);
}

TEST_F(BesideTest, WhatNeedsAnotherComesBehindIt) {
  const Plan plan = PlanOf(
      "param q: bf16[320, 256]\noutput z: bf16[4, 320]\nview qt = q: [256, 320] strides [1, 256]\n"
      "y: bf16 = matmul(x, ut)" +
      kRows + "z = matmul(y, qt)" + kRows);
  EXPECT_EQ(Launches(plan).size(), 4u);
}

TEST_F(BesideTest, ALaterProductPassesWhatItDoesNotNeed) {
  const Plan plan = PlanOf("output y: bf16[4, 256]\noutput s: f32[4]\noutput z: bf16[4, 256]\ny = matmul(x, ut)" +
                           kRows + "s = reduce sum(y) over [1]\nz = matmul(x, vt)" + kRows);
  const Lines launches = Launches(plan);
  ASSERT_EQ(launches.size(), 3u);
  EXPECT_EQ(launches[0], "beside_t_y_rows 64");
  EXPECT_EQ(launches[1], "beside_t_y_sums 8");
}

TEST_F(BesideTest, WhatWritesWhatAnotherReadsStaysBehindIt) {
  const dsl::StepUse reads{.reads = {"a"}, .writes = {"b"}, .known = true, .aside = true},
      writes{.reads = {"c"}, .writes = {"a"}, .known = true, .aside = true},
      apart{.reads = {"c"}, .writes = {"d"}, .known = true, .aside = true}, unknown{};
  const LaunchStep launch{.kernel = "k", .grid = {8, 1, 1}, .block = {128, 1, 1}};
  const auto launches = [&](std::vector<dsl::StepUse> uses) {
    std::vector<PlanStep> steps(uses.size(), launch);
    std::vector<dsl::KernelText> kernels = {
        {.comment = "", .name = "k", .bounds = "128", .parameters = {}, .body = ""}};
    dsl::JoinLaunches(steps, uses, kernels, TypicalDevice());
    EXPECT_EQ(steps.size(), uses.size());
    return steps.size();
  };
  EXPECT_EQ(launches({reads, apart}), 1u);
  EXPECT_EQ(launches({reads, writes}), 2u);
  EXPECT_EQ(launches({writes, reads}), 2u);
  EXPECT_EQ(launches({writes, writes}), 2u);
  EXPECT_EQ(launches({reads, unknown, apart}), 3u);
  EXPECT_EQ(launches({reads, writes, apart}), 2u);
}

TEST_F(BesideTest, LaunchesThatFillTheDeviceStayApart) {
  const LaunchStep few{.kernel = "k", .grid = {8, 1, 1}, .block = {128, 1, 1}},
      many{.kernel = "k", .grid = {100'000, 1, 1}, .block = {128, 1, 1}};
  const auto launches = [&](const std::vector<LaunchStep>& given) {
    std::vector<PlanStep> steps(given.begin(), given.end());
    std::vector<dsl::StepUse> uses;
    for (std::size_t i = 0; i < given.size(); ++i)
      uses.push_back({.reads = {}, .writes = {std::to_string(i)}, .known = true, .aside = true});
    std::vector<dsl::KernelText> kernels = {
        {.comment = "", .name = "k", .bounds = "128", .parameters = {}, .body = ""}};
    dsl::JoinLaunches(steps, uses, kernels, TypicalDevice());
    return steps.size();
  };
  EXPECT_EQ(launches({many, many}), 2u);
  EXPECT_EQ(launches({many, few}), 1u);
  EXPECT_EQ(launches({few, few, few}), 1u);
  LaunchStep others = few;
  others.block = {256, 1, 1};
  EXPECT_EQ(launches({few, others}), 2u);
  others = few;
  others.shared_bytes = 1024;
  EXPECT_EQ(launches({few, others}), 2u);
}

TEST_F(BesideOnDeviceTest, ComputesWhatTheProgramSays) {
  const std::string tensors(kTensors);
  ExpectWhatItSays(tensors + "output y: bf16[4, 256]\noutput z: bf16[4, 320]\noutput a: bf16[4, 256]\n" +
                       "y = matmul(x, ut)" + kRows + "z = matmul(x, wt)" + kRows + "a = matmul(x, vt)" + kRows,
                   1e-2);
  ExpectWhatItSays(tensors + "output y: bf16[4, 256]\noutput z: bf16[4, 320]\n" +
                       "y = matmul(x, ut) with {precision: bf16, tile: 64x128, split: 4}\n"
                       "z = matmul(x, wt) with {precision: bf16, tile: 64x128, split: 4}\n",
                   1e-2);
  ExpectWhatItSays(tensors + "output y: bf16[4, 256]\noutput z: bf16[4, 320]\n" +
                       "y = matmul(x, ut) with {precision: bf16, tile: 64x64, split: 1}\n"
                       "z = matmul(x, wt) with {precision: bf16, tile: 64x64, split: 1}\n",
                   1e-2);
}

}  // namespace
}  // namespace hone
