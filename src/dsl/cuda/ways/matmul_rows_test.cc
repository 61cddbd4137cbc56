// Products of a few rows of 16-bit numbers: chosen by themselves, compiled without spills for every generation, on the
// tensor cores, refused in a line where they cannot be, and what the program says. The last is skipped where there is
// no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::KernelProgram;

// x [M, K] times the transpose of w [N, K].
std::string Layer(std::int64_t m, std::int64_t n, std::int64_t k, const std::string& type,
                  const std::string& settings = "precision: rows", const std::string& end = "it") {
  return fmt::format(
      "input x: {3}[{0}, {2}]\nparam w: {3}[{1}, {2}]\nparam b: f32[{1}]\ninput r: f32[{0}, {1}]\n"
      "output y: {3}[{0}, {1}]\nview t = w: [{2}, {1}] strides [1, {2}]\ny = matmul(x, t){4} -> {5}",
      m, n, k, type, settings.empty() ? "" : " with {" + settings + "}", end);
}

struct Case {
  std::int64_t m, n, k;
  std::string settings = "precision: rows", end = "it";
};
// One row and all sixteen, whole tiles and what is left of them, depths of less than a step, parts of K.
const Case kCases[] = {
    {1, 4096, 4096},
    {8, 256, 1024, "precision: rows, warps: 4", "gelu(it + b)"},
    {16, 128, 4096, "precision: rows, warps: 16, split: 1", "it * b * 0.01 + r"},
    {5, 70, 200, "precision: rows, warps: 8", "it + r"},
    {13, 100, 1000, "precision: rows, warps: 2, split: 3", "relu(it) + r"},
    {16, 64, 8, "precision: rows, warps: 1"},
    {3, 64, 8192, "precision: rows, split: 8", "it + b"},
};
constexpr std::string_view kBatched =
    "input x: f16[3, 4, 264]\ninput w: f16[3, 80, 264]\noutput y: f32[3, 4, 80]\n"
    "view t = w: [3, 264, 80] strides [21120, 1, 264]\ny = matmul(x, t) with {precision: rows} -> it * 0.5";
constexpr std::string_view kGated =
    "input x: bf16[4, 512]\nparam g: bf16[1024, 512]\nparam u: bf16[1024, 512]\noutput y: bf16[4, 1024]\n"
    "view gt = g: [512, 1024] strides [1, 512]\nview ut = u: [512, 1024] strides [1, 512]\n"
    "y = matmul(x, gt) let up = product(ut) -> silu(it) * up";

using MatmulRowsTest = testing::CudaProgramTest;
using MatmulRowsOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(MatmulRowsTest, AFewRowsAreReadByThisWayAndManyAreNot) {
  const auto way = [&](std::int64_t m, const std::string& type, std::int64_t n = 1024) {
    const auto lowered = Lowered(Layer(m, n, 4096, type, ""));
    return dsl::WordSetting(std::get<KernelProgram>(lowered).kernels.at(0), "precision");
  };
  EXPECT_EQ(way(1, "bf16"), "rows");
  EXPECT_EQ(way(16, "f16"), "rows");
  EXPECT_EQ(way(17, "bf16"), "bf16");
  EXPECT_EQ(way(16, "bf16", 4096), "bf16");  // tiles are as fast where there are columns for all of the device
  EXPECT_EQ(way(4, "f32"), "dot");
}

TEST_F(MatmulRowsTest, EveryCaseCompilesWithoutSpillsAndMultipliesOnTheTensorCores) {
  for (const Case& one : kCases) {
    for (const auto type : {"f16", "bf16"}) {
      const std::string text = Layer(one.m, one.n, one.k, type, one.settings, one.end);
      SCOPED_TRACE(text);
      const auto lowered = Lowered(text);
      ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
      const auto built = Build(std::get<KernelProgram>(lowered));
      ASSERT_EQ(built.launches.size(), one.n == 100 || one.k == 8192 ? 2u : 1u);
      EXPECT_EQ(built.launches[0].spill_load_bytes + built.launches[0].spill_store_bytes, 0);
      EXPECT_TRUE(built.launches[0].instructions.contains("HMMA"));
    }
  }
}

TEST_F(MatmulRowsTest, TheLetsOfALayerAreAKernelEach) {
  const auto lowered = Lowered(kGated);
  ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
  EXPECT_EQ(dsl::WordSetting(std::get<KernelProgram>(lowered).kernels.at(0), "precision"), "rows");
  EXPECT_EQ(Build(std::get<KernelProgram>(lowered)).launches.size(), 2u);
}

TEST_F(MatmulRowsTest, WhatCannotBeIsSaid) {
  const auto complaint = [&](const std::string& text) {
    const auto lowered = Lowered(text);
    const auto* said = std::get_if<dsl::Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  EXPECT_EQ(complaint(Layer(17, 512, 512, "bf16")),
            "'precision' rows: it holds all 17 rows at once, 16 are possible; try simt");
  EXPECT_EQ(complaint(Layer(4, 512, 512, "f32")),
            "'precision' rows: it is for operands that are f16, or bf16; try dot");
  EXPECT_EQ(complaint(Layer(4, 512, 500, "f16")),
            "'precision' rows: it reads 16 bytes at a time along K, and an operand does not lie so; try dot");
}

TEST_F(MatmulRowsOnDeviceTest, ComputesWhatTheProgramSays) {
  for (const Case& one : kCases) {
    for (const auto type : {"f16", "bf16"}) {
      const std::string text = Layer(one.m, one.n, one.k, type, one.settings, one.end);
      SCOPED_TRACE(text);
      ExpectWhatItSays(text, 1e-2);
    }
  }
  ExpectWhatItSays(kBatched, 1e-2);
  ExpectWhatItSays(kGated, 3e-2);
}

}  // namespace
}  // namespace hone
