// Products of a few rows whose units every block has as many of: compiled without spills, one kernel each, refused in a
// line where they cannot be, and what the program says. The last is skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::KernelProgram;

// x [M, K] times the transpose of w [N, K].
std::string Layer(std::int64_t m, std::int64_t n, std::int64_t k, const std::string& type, const std::string& settings,
                  const std::string& end = "it") {
  return fmt::format(
      "input x: {3}[{0}, {2}]\nparam w: {3}[{1}, {2}]\nparam b: f32[{1}]\ninput r: f32[{0}, {1}]\n"
      "output y: {3}[{0}, {1}]\nview t = w: [{2}, {1}] strides [1, {2}]\ny = matmul(x, t){4} -> {5}",
      m, n, k, type, settings.empty() ? "" : " with {" + settings + "}", end);
}

struct Case {
  std::int64_t m, n, k;
  std::string settings = "precision: stream", end = "it";
};
// One row and all that there can be, tiles of several blocks and blocks of several tiles, what is left of both.
const Case kCases[] = {
    {16, 4096, 4096},
    {1, 512, 2048, "precision: stream, columns: 64, depth: 64"},
    {8, 100, 1024, "precision: stream, columns: 64, depth: 128, stages: 2", "gelu(it + b)"},
    {64, 1000, 576, "precision: stream, columns: 128, depth: 64", "it * b * 0.01 + r"},
    {33, 20000, 128, "precision: stream, columns: 256, depth: 64", "it + r"},
    {13, 256, 8192, "precision: stream, columns: 128, depth: 128, blocks: 7", "relu(it) + r"},
    {5, 70, 64, "precision: stream, columns: 64, depth: 64", "it + b"},
    {24, 128, 320, "precision: stream, columns: 128, depth: 256, blocks: 2"},
};
constexpr std::string_view kBatched =
    "input x: f16[30, 4, 256]\ninput w: f16[30, 80, 256]\noutput y: f32[30, 4, 80]\n"
    "view t = w: [30, 256, 80] strides [20480, 1, 256]\ny = matmul(x, t) with {precision: stream, depth: 64} -> it * "
    "0.5";
constexpr std::string_view kGated =
    "input x: bf16[16, 512]\nparam g: bf16[1100, 512]\nparam u: bf16[1100, 512]\noutput y: bf16[16, 1100]\n"
    "view gt = g: [512, 1100] strides [1, 512]\nview ut = u: [512, 1100] strides [1, 512]\n"
    "y = matmul(x, gt) with {precision: stream} let up = product(ut) -> silu(it) * up";

using MatmulStreamTest = testing::CudaProgramTest;
using MatmulStreamOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(MatmulStreamTest, EveryCaseIsOneKernelWithoutSpillsOnTheTensorCores) {
  std::vector<std::string> texts = {std::string(kBatched), std::string(kGated)};
  for (const Case& one : kCases) {
    for (const auto type : {"f16", "bf16"}) texts.push_back(Layer(one.m, one.n, one.k, type, one.settings, one.end));
  }
  for (const std::string& text : texts) {
    SCOPED_TRACE(text);
    const auto lowered = Lowered(text);
    ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
    const auto built = Build(std::get<KernelProgram>(lowered));
    ASSERT_EQ(built.launches.size(), 1u);
    EXPECT_EQ(built.launches[0].spill_load_bytes + built.launches[0].spill_store_bytes, 0);
    EXPECT_TRUE(built.launches[0].instructions.contains("HGMMA"));
    EXPECT_TRUE(built.launches[0].instructions.contains("UTMALDG"));
  }
}

TEST_F(MatmulStreamTest, BlocksWaitForEachOtherOnlyWhereTheyShareATile) {
  const auto launch = [&](const std::string& settings) {
    const auto lowered = Lowered(Layer(16, 512, 1024, "bf16", settings));
    const Plan plan = dsl::EmitCuda(std::get<KernelProgram>(lowered));
    return std::pair(std::get<LaunchStep>(plan.steps.back()), plan.steps.size());
  };
  // 4 tiles of 4 units each.
  const auto [shared, steps] = launch("precision: stream, columns: 128, depth: 256, blocks: 3");
  EXPECT_EQ(shared.grid[0], 3);
  EXPECT_EQ(shared.together, 3);
  const auto [alone, fewer] = launch("precision: stream, columns: 128, depth: 256, blocks: 4");
  EXPECT_EQ(alone.grid[0], 4);
  EXPECT_EQ(alone.together, 1);
  EXPECT_EQ(fewer, 1u);
}

TEST_F(MatmulStreamTest, WhatCannotBeIsSaid) {
  const auto complaint = [&](const std::string& text) {
    const auto lowered = Lowered(text);
    const auto* said = std::get_if<dsl::Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  const std::string stream = "precision: stream";
  EXPECT_EQ(complaint(Layer(65, 512, 512, "bf16", stream)),
            "'precision' stream: it holds all 65 rows at once, 64 are possible; try bf16");
  EXPECT_EQ(complaint(Layer(4, 512, 512, "f32", stream)),
            "'precision' stream: it is for operands that are f16, or bf16; try dot");
  EXPECT_EQ(complaint(Layer(4, 512, 520, "f16", stream)),
            "'precision' stream: K is 520, and it reads 64 at a time; try rows");
  EXPECT_EQ(complaint(Layer(4, 512, 512, "f16", stream + ", columns: 96")),
            "'columns' 96: it is a multiple of 64, not 96; try 128");
  EXPECT_EQ(complaint(Layer(4, 512, 512, "f16", stream + ", columns: 64, depth: 64, blocks: 65")),
            "'blocks' 65: it goes from 1 to 64; try 64");
}

TEST_F(MatmulStreamOnDeviceTest, ComputesWhatTheProgramSays) {
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
