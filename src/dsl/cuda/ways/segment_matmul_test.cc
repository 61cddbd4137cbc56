// Products of segments of K: compiled without spills on the tensor cores, refused in a line where they cannot be, and
// what the program says. The last is skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::KernelProgram;

struct Case {
  std::int64_t m, n, k, segments;
  std::string settings = "", end = "it", ends = "i32";
};
std::string Text(const Case& one, const std::string& type) {
  return fmt::format(
      "input x: {4}[{2}, {0}]\ninput z: {4}[{2}, {1}]\ninput ends: {7}[{3}]\ninput bias: f32[{1}]\n"
      "input scale: {4}[{3}, {0}, 1]\noutput y: {4}[{3}, {0}, {1}]\nview a = x: [{0}, {2}] strides [1, {0}]\n"
      "y = segment_matmul(a, z, ends){5} -> {6}",
      one.m, one.n, one.k, one.segments, type, one.settings.empty() ? "" : " with {" + one.settings + "}", one.end,
      one.ends);
}

// The ends that are drawn are up to 99 in no order: segments of no terms, of a few, and of more than a stage has.
const Case kCases[] = {
    {128, 256, 300, 8},
    {128, 256, 99, 8, "cluster: 2, end: lines"},
    {200, 136, 90, 40, "tile: 64x128, cluster: 1", "relu(it + bias) * scale"},
    {64, 64, 64, 3, "tile: 64x64, end: tiles, cluster: 2", "it * scale", "i64"},
    {72, 520, 70, 33, "tile: 128x256, end: tiles", "it + bias"},
    {256, 128, 80, 1, "tile: 128x128"},
};

using SegmentMatmulTest = testing::CudaProgramTest;
using SegmentMatmulOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(SegmentMatmulTest, EveryCaseCompilesWithoutSpillsAndMultipliesOnTheTensorCores) {
  for (const Case& one : kCases) {
    for (const auto type : {"f16", "bf16"}) {
      const std::string text = Text(one, type);
      SCOPED_TRACE(text);
      const auto lowered = Lowered(text);
      ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
      const auto built = Build(std::get<KernelProgram>(lowered));
      ASSERT_EQ(built.launches.size(), 1u);
      EXPECT_EQ(built.launches[0].spill_load_bytes + built.launches[0].spill_store_bytes, 0);
      EXPECT_TRUE(built.launches[0].instructions.contains("HGMMA"));
      EXPECT_EQ(built.log.find("C75"), std::string::npos) << built.log;
    }
  }
}

TEST_F(SegmentMatmulTest, WhatCannotBeIsSaid) {
  const auto complaint = [&](const std::string& x, const std::string& z, const std::string& ends,
                             const std::string& view = "x") {
    const auto lowered =
        Lowered(fmt::format("input x: bf16{}\ninput z: bf16{}\ninput ends: {}\noutput y: bf16[4, 16, 32]\n{}y = "
                            "segment_matmul({}, z, ends)",
                            x, z, ends, view == "x" ? "" : "view a = x: [16, 64] strides [1, 16]\n", view));
    const auto* said = std::get_if<dsl::Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  EXPECT_EQ(complaint("[64, 16]", "[64, 32]", "i32[4]", "a"), "taken");
  EXPECT_EQ(complaint("[16, 60]", "[64, 32]", "i32[4]"),
            "segment_matmul of [16, 60], [64, 32] and [4]: A's columns (60) must be as many as B's rows (64)");
  EXPECT_EQ(complaint("[16, 64]", "[4, 64, 32]", "i32[4]"),
            "segment_matmul of [16, 64], [4, 64, 32] and [4]: wants A [M, K], B [K, N] and one end a segment, [G]");
  EXPECT_EQ(complaint("[64, 16]", "[64, 32]", "f32[4]", "a"), "where segments end are whole numbers");
  EXPECT_EQ(complaint("[16, 64]", "[64, 32]", "i32[4]"),
            "'segment_matmul' has no kernel for this: both operands have to lie in lines across K, at multiples of 16 "
            "bytes");
}

TEST_F(SegmentMatmulOnDeviceTest, ComputesWhatTheProgramSays) {
  for (const Case& one : kCases) {
    for (const auto type : {"f16", "bf16"}) {
      const std::string text = Text(one, type);
      SCOPED_TRACE(text);
      ExpectWhatItSays(text, 1e-2);
    }
  }
}

}  // namespace
}  // namespace hone
