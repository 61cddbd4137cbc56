// Depthwise convolutions by a kernel of our own: every way to cut them compiles and fits the device, and computes what
// the program says. The latter is skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "dsl/testing/device_program.h"

namespace hone {
namespace {

// With padding, stride and dilation; widths that packs divide and others; several outputs a channel; one dimension and
// three; long rows in strips, images narrower than a warp, windows too large to be written out; an expression as input;
// a chain; f64 and halves.
constexpr std::string_view kPrograms[] = {
    "input x: f32[3, 5, 37, 51]\nparam w: f32[5, 1, 3, 3]\noutput y: f32[3, 5, 37, 51]\n"
    "y = conv(x, w) by {padding: 1, groups: 5} with {path: own}",
    "input x: f32[3, 5, 37, 52]\nparam w: f32[5, 1, 3, 3]\nparam b: f32[5]\noutput y: f32[3, 5, 37, 52]\n"
    "view c = b: [5, 1, 1] strides [1, 0, 0]\n"
    "y = conv(x, w) by {padding: 1, groups: 5} with {path: own, rows: 5, across: 4, block: 64} -> relu(it + c) * 2",
    "input x: f32[2, 3, 38, 50]\nparam w: f32[6, 1, 3, 3]\nparam b: f32[6]\noutput y: f32[2, 6, 19, 25]\n"
    "view c = b: [6, 1, 1] strides [1, 0, 0]\n"
    "y = conv(x, w) by {padding: 1, stride: 2, groups: 3} with {path: own} -> it + c",
    "input x: f32[2, 3, 38, 50]\nparam w: f32[3, 1, 5, 3]\noutput y: f32[2, 3, 20, 52]\n"
    "y = conv(exp(x), w) by {padding: 3x4, stride: 2x1, dilation: 1x3, groups: 3} with {path: own}",
    "input x: f32[2, 4, 5000]\nparam w: f32[4, 1, 7]\noutput y: f32[2, 4, 5000]\n"
    "y = conv(x, w) by {padding: 3, groups: 4} with {path: own}",
    "input x: f32[2, 4, 20000]\nparam w: f32[4, 1, 100]\noutput y: f32[2, 4, 6637]\n"
    "y = conv(x, w) by {padding: 5, stride: 3, groups: 4} with {path: own}",
    "input x: f32[2, 3, 6, 12, 20]\nparam w: f32[3, 1, 3, 3, 3]\noutput y: f32[2, 3, 6, 12, 20]\n"
    "y = conv(x, w) by {padding: 1, groups: 3} with {path: own, across: 4} -> relu(it)",
    "input x: f32[2, 3, 40, 4100]\nparam w: f32[3, 1, 3, 3]\noutput y: f32[2, 3, 40, 4100]\n"
    "y = conv(x, w) by {padding: 1, groups: 3} with {path: own}",
    "input x: f32[9, 11, 7, 7]\nparam w: f32[11, 1, 3, 3]\noutput y: f32[9, 11, 7, 7]\n"
    "y = conv(x, w) by {padding: 1, groups: 11} with {path: own}",
    "input x: f32[1, 4, 64, 80]\nparam w: f32[4, 1, 11, 11]\noutput y: f32[1, 4, 64, 80]\n"
    "y = conv(x, w) by {padding: 5, groups: 4} with {path: own, across: 4}",
    "input x: f64[3, 5, 37, 52]\nparam w: f64[5, 1, 3, 3]\noutput y: f64[3, 5, 37, 52]\n"
    "y = conv(x, w) by {padding: 1, groups: 5} with {path: own}",
    "input x: f32[4, 1, 30, 30]\nparam w: f32[16, 1, 5, 5]\noutput y: f32[4, 16, 30, 30]\n"
    "y = conv(x, w) by {padding: 2} with {path: own, pack: 1}",
};
constexpr std::string_view kHalves[] = {
    "input x: f16[3, 5, 37, 56]\nparam w: f16[5, 1, 3, 3]\noutput y: f16[3, 5, 37, 56]\n"
    "y = conv(x, w) by {padding: 1, groups: 5} with {path: own} -> relu(it)",
    "input x: bf16[3, 5, 37, 51]\nparam w: bf16[5, 1, 3, 3]\noutput y: bf16[3, 5, 37, 51]\n"
    "y = conv(x, w) by {padding: 1, groups: 5} with {path: own}",
};

using CudaDepthwiseTest = testing::CudaProgramTest;
using DepthwiseOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(CudaDepthwiseTest, EveryKindCompilesAndFits) {
  std::vector<std::string_view> programs(std::begin(kPrograms), std::end(kPrograms));
  programs.insert(programs.end(), std::begin(kHalves), std::end(kHalves));
  for (const auto text : programs) {
    SCOPED_TRACE(text);
    const auto lowered = Lowered(text);
    ASSERT_TRUE(std::holds_alternative<dsl::KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
    const auto built = Build(std::get<dsl::KernelProgram>(lowered));
    ASSERT_EQ(built.launches.size(), 1u);
    EXPECT_EQ(built.launches[0].spill_load_bytes, 0);
    EXPECT_EQ(built.launches[0].spill_store_bytes, 0);
  }
}

TEST_F(CudaDepthwiseTest, HalvesAreCopiedAndStoredAsHalves) {
  const auto lowered = Lowered(kHalves[0]);
  const auto built = Build(std::get<dsl::KernelProgram>(lowered));
  ASSERT_EQ(built.launches.size(), 1u);
  EXPECT_TRUE(built.launches[0].instructions.contains("STG.64"));
  EXPECT_TRUE(built.launches[0].instructions.contains("LDGSTS"));
  EXPECT_LT(built.launches[0].static_shared_bytes, 16 * 10 * (8 + 56 + 8) * 4);  // sixteen tiles of ten rows, in floats
}

// What is written out is: sums are in registers, each element is read from shared memory once a thread, and goes there
// without passing through registers.
TEST_F(CudaDepthwiseTest, RowsAreCopiedAndReadOnce) {
  const auto lowered = Lowered(
      "input x: f32[16, 64, 512, 512]\nparam w: f32[64, 1, 3, 3]\noutput y: f32[16, 64, 510, 510]\n"
      "y = conv(x, w) by {groups: 64} with {path: own, rows: 16, across: 2}");
  const auto built = Build(std::get<dsl::KernelProgram>(lowered));
  ASSERT_EQ(built.launches.size(), 1u);
  const auto& instructions = built.launches[0].instructions;
  EXPECT_TRUE(instructions.contains("LDGSTS"));
  EXPECT_FALSE(instructions.contains("LDG.128"));
  EXPECT_EQ(instructions.at("LDS.64"), 2 * 18);
  EXPECT_EQ(instructions.at("STG.64"), 16);
  EXPECT_EQ(instructions.at("FFMA"), 9 * 2 * 16);
}

TEST_F(CudaDepthwiseTest, WhatItCannotDoIsRefusedInALine) {
  const auto complaint = [&](std::string_view w, std::string_view rest) {
    const auto lowered = Lowered(
        fmt::format("input x: f32[2, 8, 30, 31]\nparam w: f32{}\noutput y: f32[2, 8, 30, 31]\ny = conv{}", w, rest));
    const auto* said = std::get_if<dsl::Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  EXPECT_EQ(complaint("[8, 1, 3, 3]", "(x, w) by {padding: 1, groups: 8}"), "taken");
  EXPECT_EQ(complaint("[8, 1, 3, 3]", "(x, w) by {padding: 1, groups: 8} with {path: library}"), "taken");
  EXPECT_EQ(complaint("[8, 1, 3, 3]", "(exp(x), w) by {padding: 1, groups: 8}"), "taken");
  EXPECT_NE(
      complaint("[8, 1, 3, 3]", "(exp(x), w) by {padding: 1, groups: 8} with {path: library}").find("cuDNN reads"),
      std::string::npos);
  EXPECT_NE(complaint("[8, 2, 3, 3]", "(x, w) by {padding: 1, groups: 4} with {path: own}").find("one input channel"),
            std::string::npos);
  EXPECT_NE(
      complaint("[8, 1, 3, 3]", " transposed(x, w) by {padding: 1, groups: 8} with {path: own}").find("transposed"),
      std::string::npos);
  EXPECT_NE(complaint("[8, 1, 3, 3]", "(x, w) by {padding: 1, groups: 8} with {across: 2}").find("do not divide"),
            std::string::npos);
  const auto half = [&](const std::string& target) {
    return Lowered(
        fmt::format("input x: f16[2, 8, 30, 31]\nparam w: f16[8, 1, 3, 3]\noutput y: {}[2, 8, 30, 31]\n"
                    "y = conv(x, w) by {{padding: 1, groups: 8}} with {{path: library}} -> relu(it)",
                    target));
  };
  EXPECT_TRUE(std::holds_alternative<dsl::KernelProgram>(half("f16")));
  ASSERT_TRUE(std::holds_alternative<dsl::Complaint>(half("bf16")));
  EXPECT_NE(std::get<dsl::Complaint>(half("bf16")).message.find("computes in f32 here and cannot write bf16"),
            std::string::npos);
}

TEST_F(DepthwiseOnDeviceTest, ItComputesWhatItsProgramSays) {
  for (const auto text : kPrograms) {
    SCOPED_TRACE(text);
    ExpectWhatItSays(text);
  }
}

}  // namespace
}  // namespace hone
