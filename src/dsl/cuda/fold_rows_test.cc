// Rows that a team of blocks keeps: every kind of them compiles and fits the device, and computes what the program
// says. The latter is skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "dsl/testing/device_program.h"
#include "dsl/testing/interpreter.h"
#include "target/cuda/loaded_plan.h"

namespace hone {
namespace {

using dsl::KernelBuffer;
using dsl::KernelProgram;

// Rows that divide into the team's threads and rows that do not, in packs of four and of one, of one operand and two,
// of f32 and f64; statistics in one pass and in two; a row in registers alone, and one that is kept nowhere.
// 48 KiB of a block's memory are asked for, and a few bytes more are static: together more than a kernel has that does
// not say how much it takes.
constexpr std::string_view kFullShared =
    "input x: f32[2, 49152]\noutput y: f32[2, 49152]\ny = softmax(x) over [1] with {lanes: 512, pack: 4, team: 2}";
constexpr std::string_view kPrograms[] = {
    "input x: f32[9, 6144]\noutput y: f32[9, 6144]\ny = softmax(x * 3) over [1] with {lanes: 128, team: 3}",
    "input x: f32[9, 6100]\noutput y: f32[9, 6100]\ny = softmax log(x) over [1] with {lanes: 128, team: 5}",
    "input x: f32[9, 6101]\noutput y: f32[9, 6101]\ny = softmax(x) over [1] with {lanes: 256, team: 2} -> it + x",
    "input x: f32[9, 6100]\ninput r: f32[9, 6100]\nparam g: f32[6100]\noutput y: f32[9, 6100]\n"
    "y = norm(x + r) over [1] with {lanes: 128, team: 4}\n  let m = mean(it)\n  let v = mean(square(it - m))\n"
    "  -> (it - m) * rsqrt(v + 1e-5) * g",
    "input x: f32[4, 6, 40, 64]\nparam g: f32[6]\noutput y: f32[4, 6, 40, 64]\nview v = x: [4, 2, 3, 2560] strides "
    "[15360, 7680, 2560, 1]\nview w = g: [2, 3, 1] strides [3, 1, 0]\ny: [4, 6, 40, 64] = norm(v) over [2, 3] with "
    "{lanes: 128, team: 3}\n  let m = mean(it)\n  let d = mean(square(it - m))\n  -> (it - m) * rsqrt(d + 1e-5) * w",
    "input x: f32[9, 70001]\noutput y: f32[9, 70001]\ny = norm(x) over [1] with {lanes: 256, team: 7, pack: 1}\n"
    "  let s = sum(abs(it))\n  let t = max_over(it)\n  -> it / s + t",
    "input x: f64[9, 6100]\noutput y: f64[9, 6100]\ny = norm(x) over [1] with {lanes: 128, team: 4, pack: 2}\n"
    "  let m = mean(it)\n  let v = mean(square(it - m))\n  -> (it - m) * rsqrt(v + 1e-5)",
    "input x: f32[9, 512]\noutput y: f32[9, 512]\ny = norm(x) over [1] with {lanes: 128, team: 8}\n"
    "  let s = sum(it * it)\n  let t = min_over(it)\n  -> it / s + t",
    "input x: f32[9, 6100]\noutput y: f32[9, 6100]\ny = norm(x) over [1] with {keep: no, lanes: 128, team: 4}\n"
    "  let s = sum(abs(it))\n  -> it / s",
    "input x: f32[9, 6100]\noutput y: f32[9]\ny = reduce sum(x) over [1] with {lanes: 128, team: 4}",
    kFullShared,
};
constexpr std::string_view kHalf =
    "input x: f16[9, 6100]\noutput y: f16[9, 6100]\ny = softmax(x) over [1] with {lanes: 128, team: 4}";

using CudaRowsTest = testing::CudaProgramTest;
using RowsOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(CudaRowsTest, EveryKindOfTeamCompilesAndFits) {
  std::vector<std::string_view> programs(std::begin(kPrograms), std::end(kPrograms));
  programs.push_back(kHalf);
  for (const auto text : programs) {
    SCOPED_TRACE(text);
    const auto lowered = Lowered(text);
    ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
    const auto built = Build(std::get<KernelProgram>(lowered));
    ASSERT_EQ(built.plan.steps.size(), 2u);
    EXPECT_GT(std::get<LaunchStep>(built.plan.steps[1]).together, 1);
    EXPECT_EQ(built.launches.at(0).spill_load_bytes, 0);
  }
}

TEST_F(CudaRowsTest, ARowThatFillsWhatABlockHasWithoutAsking) {
  const auto lowered = Lowered(kFullShared);
  const auto built = Build(std::get<KernelProgram>(lowered));
  const auto& launch = std::get<LaunchStep>(built.plan.steps.at(1));
  EXPECT_EQ(launch.shared_bytes, 48 << 10);
  EXPECT_GT(built.launches.at(0).static_shared_bytes, 0);
}

TEST_F(CudaRowsTest, ATeamThatCannotMeetIsRefusedInALine) {
  const auto complaint = [&](std::string_view with, std::string_view axis = "1") {
    const auto lowered = Lowered(fmt::format(
        "input x: f32[64, 6000]\noutput y: f32[64, 6000]\ny = softmax(x) over [{}] with {{{}}}", axis, with));
    const auto* said = std::get_if<dsl::Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  EXPECT_EQ(complaint("lanes: 128, team: 4"), "taken");
  EXPECT_NE(complaint("lanes: 64, team: 4").find("128 lanes or more"), std::string::npos);
  EXPECT_NE(complaint("lanes: 128, team: 130").find("130 lanes or more"), std::string::npos);
  EXPECT_NE(complaint("lanes: 128, team: 4, split: 2").find("no teams"), std::string::npos);
  EXPECT_NE(complaint("lanes: 128, team: 4, cluster: 2").find("a cluster or a team"), std::string::npos);
  EXPECT_NE(complaint("lanes: 128, team: 4, ahead: 4").find("fetches none ahead"), std::string::npos);
  EXPECT_NE(complaint("lanes: 16, team: 4", "0").find("innermost dimension is not folded"), std::string::npos);
}

// 32 blocks of columns in five parts would be a fifth more than all multiprocessors.
TEST_F(CudaRowsTest, ColumnsAreCutIntoAsManyBlocksAsFitAtOnce) {
  const auto blocks = [&](int columns) {
    const auto lowered =
        Lowered(fmt::format("input x: bf16[8192, {0}]\noutput y: f32[{0}]\ny = reduce sum(x) over [0]", columns));
    return (columns + 127) / 128 * dsl::IntSetting(std::get<KernelProgram>(lowered).kernels.at(0), "split");
  };
  const auto all = TypicalDevice().multiprocessors;
  EXPECT_EQ(blocks(4096), all / 32 * 32);
  EXPECT_EQ(blocks(1024), all / 8 * 8);
  EXPECT_EQ(blocks(20000), 157);
}

TEST_F(RowsOnDeviceTest, ATeamComputesWhatItsProgramSays) {
  for (const auto text : kPrograms) {
    SCOPED_TRACE(text);
    ExpectWhatItSays(text);
  }
}

// The parts of a row that hold minus infinity weigh nothing; a NaN or infinity is in its whole row and in no other.
TEST_F(RowsOnDeviceTest, ExtremesOfASoftmaxStayInTheirRows) {
  constexpr std::size_t kWidth = 6144;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const auto lowered = Lowered(kPrograms[0]);
  const auto& program = std::get<KernelProgram>(lowered);
  std::vector<std::vector<double>> values(program.buffers.size());
  auto& x = values[0];
  x.assign(9 * kWidth, -200);
  x[5] = std::nan("");                                                                        // row 0
  x[kWidth + 5000] = kInf;                                                                    // row 1
  std::fill(x.begin() + 2 * kWidth, x.begin() + 3 * kWidth, -kInf);                           // row 2
  for (std::size_t i = 0; i < kWidth; ++i) x[3 * kWidth + i] = i / 512 % 3 == 1 ? 0 : -kInf;  // one block's of row 3
  const auto y = Run(program, values)[1];
  for (std::size_t i = 0; i < 3 * kWidth; ++i) ASSERT_TRUE(std::isnan(y[i])) << i;
  for (std::size_t i = 3 * kWidth; i < 4 * kWidth; ++i)
    ASSERT_NEAR(y[i] * kWidth / 3, i % kWidth / 512 % 3 == 1, 1e-5) << i;
  for (std::size_t i = 4 * kWidth; i < 9 * kWidth; ++i) ASSERT_NEAR(y[i] * kWidth, 1, 1e-5) << i;
}

// Squares are folded about an element that the threads of a warp have in common: about an outlier their sum would be
// large, and wrong in what it says of the others.
TEST_F(RowsOnDeviceTest, AnOutlierDoesNotSpoilItsRow) {
  constexpr std::size_t kWidth = 24000;
  const auto lowered = Lowered(
      "input x: f32[2, 24000]\noutput y: f32[2, 24000]\ny = norm(x) over [1] with {lanes: 128, team: 3}\n"
      "  let m = mean(it)\n  let v = mean(square(it - m))\n  -> (it - m) * rsqrt(v + 1e-5)");
  const auto& program = std::get<KernelProgram>(lowered);
  std::mt19937 random(5);
  std::vector<std::vector<double>> values(program.buffers.size());
  values[0].resize(2 * kWidth);
  for (std::size_t i = 0; i < values[0].size(); ++i)
    values[0][i] = static_cast<double>(random() % 65536) / 65536 * (i % 1009 == 3 ? 1000 : 1);
  const auto got = Run(program, values)[1];
  dsl::testing::Interpreter(program, values).Run();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double want = values[1][i];
    if (std::fabs(want) > 1) {
      ASSERT_NEAR(got[i] / want, 1, 0x1p-22) << i;
    }
  }
}

TEST_F(RowsOnDeviceTest, MoreBlocksThanTheDeviceHoldsAreRefusedBeforeTheyHang) {
  const auto lowered = Lowered(kPrograms[0]);
  const auto& program = std::get<KernelProgram>(lowered);
  auto built = Build(program);
  std::get<LaunchStep>(built.plan.steps[1]).together = 1 << 20;
  auto plan = cuda::LoadedPlan::Load(*context_, built);
  ASSERT_TRUE(plan) << plan.error().message;
  const auto bound = (*plan)->Bind({});
  ASSERT_FALSE(bound);
  EXPECT_NE(bound.error().message.find("wait for each other"), std::string::npos) << bound.error().message;
}

}  // namespace
}  // namespace hone
