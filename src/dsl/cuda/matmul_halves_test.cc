// Operands of f32 that become halves where they are multiplied: which do, what that saves, that every layout and edge
// builds, and on a device that it computes what it says.
#include "dsl/cuda/matmul_halves.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "candidate/plan.h"
#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::Complaint;
using dsl::KernelProgram;

struct Case {
  std::int64_t batches, m, k, n;
  bool a_across = false, b_along = false;
};
constexpr Case kCases[] = {
    {1, 200, 260, 140},              // edges of rows, of columns and of K
    {1, 200, 260, 140, true, true},  // both turned
    {3, 128, 64, 256, false, true},  // a stage a tile
    {2, 64, 320, 128, true},         // fewer rows than a tile has
    {1, 128, 2048, 128},             // parts of K
};

std::string Text(const Case& one, std::string_view settings, std::string_view role = "input") {
  const auto operand = [](const char* name, std::int64_t batches, std::int64_t rows, std::int64_t columns, bool turned,
                          std::string_view role) {
    return turned
               ? fmt::format("{5} {0}_: f32[{1}, {3}, {2}]\nview {0} = {0}_: [{1}, {2}, {3}] strides [{4}, 1, {2}]\n",
                             name, batches, rows, columns, rows * columns, role)
               : fmt::format("{4} {0}: f32[{1}, {2}, {3}]\n", name, batches, rows, columns, role);
  };
  return fmt::format("{}{}output y: f32[{}, {}, {}]\ny = matmul(x, w) with {{{}}} -> it + 1\n",
                     operand("x", one.batches, one.m, one.k, one.a_across, "input"),
                     operand("w", one.batches, one.k, one.n, one.b_along, role), one.batches, one.m, one.n, settings);
}

class HalvesTest : public testing::CudaProgramTest {
 protected:
  static std::string HalvesOf(const std::string& text) {
    const auto lowered = Lowered(text);
    const auto* program = std::get_if<KernelProgram>(&lowered);
    if (!program) return std::get<Complaint>(lowered).message;
    return std::get<std::string>(program->kernels.at(0).settings.at("halves").value);
  }
  static cuda::BuiltPlan BuildText(const std::string& text) {
    const auto lowered = Lowered(text);
    const auto* program = std::get_if<KernelProgram>(&lowered);
    EXPECT_NE(program, nullptr) << std::get<Complaint>(lowered).message;
    return program ? Build(*program) : cuda::BuiltPlan();
  }
};

using HalvesOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(HalvesTest, EveryLayoutBuilds) {
  for (const Case& one : kCases) {
    for (const std::string_view precision : {"f32x3", "f16"}) {
      for (const std::string_view halves : {"left", "right", "both"}) {
        const std::string text = Text(one, fmt::format("precision: {}, halves: {}", precision, halves));
        SCOPED_TRACE(text);
        const auto plan = BuildText(text);
        ASSERT_FALSE(plan.launches.empty());
        bool packs = false;
        for (const auto& kernel : plan.launches) {
          // Two warpgroups of 64 numbers a thread beside two that multiply: some of their counters are spilled.
          EXPECT_LE(kernel.spill_load_bytes + kernel.spill_store_bytes, halves == "both" ? 96 : 0) << kernel.name;
          packs |= kernel.name.find("pack_") != std::string::npos;
        }
        EXPECT_EQ(packs, halves != "both");
        EXPECT_EQ(plan.log.find("C75"), std::string::npos) << plan.log;  // ptxas waits after every wgmma
      }
    }
  }
}

TEST_F(HalvesTest, OperandsThatFewTilesReadAreNotPackedBefore) {
  constexpr std::string_view kPlain = "precision: f32x3";
  EXPECT_EQ(HalvesOf(Text({1, 256, 524288, 256}, kPlain)), "both");
  EXPECT_EQ(HalvesOf(Text({16, 128, 64, 1048576}, kPlain)), "right");
  EXPECT_EQ(HalvesOf(Text({1, 4096, 4096, 4096}, kPlain)), "before");
  // What is packed once costs nothing before.
  EXPECT_EQ(HalvesOf(Text({1, 128, 4096, 65536}, kPlain)), "right");
  EXPECT_EQ(HalvesOf(Text({1, 128, 4096, 65536}, kPlain, "param")), "before");
}

TEST_F(HalvesTest, WhatCannotBeIsRefusedInALine) {
  const auto complaint = [](const Case& one, const std::string& settings) { return HalvesOf(Text(one, settings)); };
  const Case some{1, 256, 256, 256};
  EXPECT_EQ(complaint(some, "precision: f32x3, halves: left, tile: 64x128"),
            "'halves' left: halves are made of tiles of 128x128; try before");
  EXPECT_EQ(complaint(some, "precision: f32x3, halves: both, promote: 128"),
            "'promote' 128: what becomes halves where it is multiplied has a scale for 64 of K; try 64");
  EXPECT_EQ(complaint({1, 256, 255, 256}, "precision: f32x3, halves: left"),
            "'halves' left: the left operand does not lie in lines of f32 that the copy engine reads; try before");
  EXPECT_EQ(complaint({1, 256, 256, 255}, "precision: f32x3, halves: both"),
            "'halves' both: the right operand does not lie in lines of f32 that the copy engine reads; try before");
  EXPECT_EQ(HalvesOf("input x: f16[256, 256]\ninput w: f16[256, 256]\noutput y: f16[256, 256]\n"
                     "y = matmul(x, w) with {precision: f16, halves: left}\n"),
            "'halves' left: no operand of it becomes halves; remove it");
}

TEST_F(HalvesOnDeviceTest, EveryWayComputesWhatItSays) {
  for (const Case& one : kCases) {
    for (const std::string_view halves : {"left", "right", "both"}) {
      for (const std::string_view precision : {"f32x3", "f16"}) {
        const std::string text = Text(one, fmt::format("precision: {}, halves: {}", precision, halves));
        SCOPED_TRACE(text);
        ExpectWhatItSays(text, precision == "f32x3" ? 2e-5 : 1e-2);
      }
    }
  }
}

}  // namespace
}  // namespace hone
