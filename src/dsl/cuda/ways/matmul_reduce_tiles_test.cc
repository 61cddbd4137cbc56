// Products of many rows folded tile by tile: compiled without spills on the tensor cores with nothing of their size
// beside them, refused in a line where they cannot be, and what the program says. The last is skipped where there is no
// device. Of which column is a row's extreme most cases fold numbers that are the same everywhere, `bias` and `place`,
// so that ties are ties.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::KernelProgram;

struct Case {
  std::int64_t batches, m, n, k;
  std::string variant = "logsumexp", settings = "tile: 128x256", score = "it", end = "it";
  bool across = false;
  std::string also = "";
};
// A batch has rows and columns of its own. `bias`, `place` and `scale` broadcast to scores and results.
std::string Text(const Case& one, const std::string& type, std::string_view path = "tiles") {
  const std::string columns =
      one.across ? fmt::format("input t: {}[{}, {}, {}]\n", type, one.batches, one.k, one.n)
                 : fmt::format("input d: {0}[{1}, {2}, {3}]\nview t = d: [{1}, {3}, {2}] strides [{4}, 1, {3}]\n", type,
                               one.batches, one.n, one.k, one.n * one.k);
  const bool places = one.variant.starts_with("arg");
  return fmt::format(
      "input q: {4}[{0}, {1}, {3}]\n{5}input place: f32[{2}]\ninput bias: f32[{1}, {2}]\n"
      "input scale: f32[{0}, 1]\noutput y: {10}[{0}, {1}]\n{11}"
      "y = matmul_reduce {6}(q, t) with {{path: {13}{7}}}{8} -> {9}{12}",
      one.batches, one.m, one.n, one.k, type, columns, one.variant, one.settings.empty() ? "" : ", " + one.settings,
      one.score == "it" ? "" : " let score = " + one.score, one.end, places ? "i64" : "f32",
      one.also.empty() ? "" : fmt::format("output v: f32[{}, {}]\n", one.batches, one.m),
      one.also.empty() ? "" : " also v = " + one.also, path);
}

// Whole tiles and what is left of them, hidden columns, a row of which all are hidden, pairs of blocks.
const Case kCases[] = {
    {1, 256, 512, 128, "logsumexp", "tile: 128x256", "it * 20"},
    {1, 300, 700, 200, "logsumexp", "tile: 128x128", "it * 0.5 + bias", "it * scale"},
    {3, 130, 90, 72, "logsumexp", "tile: 64x64", "select(place < 0.3, it, -inf)"},
    {2, 64, 100, 64, "logsumexp", "tile: 128x128", "select(bias < 2, it, -inf)"},
    {1, 100, 40, 64, "logsumexp", "tile: 64x128", "select(place < -9, it, -inf)"},
    {1, 1000, 1000, 64, "logsumexp", "tile: 128x256, cluster: 2, stages: 3"},
    {1, 500, 333, 96, "max", "tile: 128x256", "it + bias", "relu(it)"},
    {2, 200, 300, 136, "min", "tile: 64x256"},
    {1, 129, 257, 64, "sum", "tile: 128x128", "relu(it + bias)", "it * scale"},
    {2, 300, 712, 200, "logsumexp", "tile: 128x256, cluster: 2", "it * 0.5 + bias", "it * scale", true},
    {1, 129, 520, 128, "argmax", "tile: 128x256", "it * 0.5 + bias"},
    {2, 100, 304, 72, "argmin", "tile: 64x128, cluster: 2", "it", "it", true, "it * scale"},
    // Many of a kind, in one tile and in several; all alike; all hidden; the first of several NaNs.
    {1, 300, 1000, 64, "argmax", "tile: 128x128", "floor(bias) + it * 0", "it", false, "it"},
    {2, 130, 700, 64, "argmin", "tile: 64x64, stages: 3", "floor(place) + it * 0", "it * 3"},
    {1, 200, 300, 64, "argmax", "tile: 64x256", "it * 0"},
    {1, 70, 300, 64, "argmax", "tile: 128x256", "select(place < -9, it, -inf)", "it", false, "it"},
    {1, 70, 300, 64, "argmin", "tile: 128x64", "select(place < -9, it, inf)"},
    {1, 300, 1000, 64, "argmax", "tile: 128x128", "select(bias > 5.98, nan, bias + it * 0)", "it", false,
     "select(it == it, it, 99)"},
    {1, 300, 1000, 64, "argmin", "tile: 64x128", "select(bias > 5.98, nan, bias + it * 0)"},
    {1, 700, 512, 136, "argmax", "tile: 128x256, turns: yes", "it + place", "it", false, "it"},
    {3, 300, 500, 64, "argmin", "tile: 128x128, turns: yes, cluster: 2", "floor(bias) + it * 0"},
    {1, 500, 300, 200, "logsumexp", "tile: 128x256, turns: yes", "it * 0.5", "it * scale"},
    {1, 200, 77, 64, "argmin", "tile: 128x64", "bias + it * 0", "it", false, "it"},
};

// Of f32: rows along K, across it, as many of K as are no whole stage.
const Case kCasesOfF32[] = {
    {1, 300, 700, 200, "argmin", "tile: 128x128", "it * 0.5 + bias", "it", false, "it * scale"},
    {2, 130, 90, 70, "argmax", "tile: 64x64", "it", "it", true, "it"},
    {1, 300, 1000, 64, "argmax", "tile: 64x128", "floor(bias) + it * 0"},
    {1, 100, 333, 300, "logsumexp", "tile: 128x64", "it * 0.02 + bias", "it * scale"},
    {1, 129, 257, 64, "max", "", "it + bias", "relu(it)"},
    {2, 65, 100, 33, "min", "stages: 2"},
};

// Rows of sequences of which one is cut off, first or last, and columns that all share, as a loss of a language model
// has them.
std::string CutText(int first, const std::string& type) {
  return fmt::format(
      "input x: {0}[3, 300, 200]\nparam w: {0}[712, 200]\noutput y: f32[3, 299]\n"
      "view rows = x: [3, 299, 200] strides [60000, 200, 1]{1}\nview t = w: [200, 712] strides [1, 200]\n"
      "y = matmul_reduce logsumexp(rows, t) with {{path: tiles, tile: 128x256, cluster: 2}} let score = it / 0.7",
      type, first > 0 ? fmt::format(" offset {}", 200 * first) : "");
}

// Groups of columns: of whole tiles and what is left of them, of batches, behind scores and a chain.
struct Groups {
  std::int64_t batches, m, n, k, group;
  std::string variant = "max", settings = "path: tiles, tile: 128x256", score = "it", end = "it", type = "bf16";
};
std::string Text(const Groups& one) {
  return fmt::format(
      "input q: {0}[{1}, {2}, {4}]\ninput d: {0}[{1}, {3}, {4}]\ninput bias: f32[{2}, {3}]\ninput scale: f32[{1}, {2}, "
      "1]\noutput y: f32[{1}, {2}, {5}]\nview t = d: [{1}, {4}, {3}] strides [{6}, 1, {4}]\n"
      "y = matmul_reduce {7}(q, t) by {{group: {8}}} with {{{9}}}{10} -> {11}",
      one.type, one.batches, one.m, one.n, one.k, (one.n + one.group - 1) / one.group, one.n * one.k, one.variant,
      one.group, one.settings, one.score == "it" ? "" : " let score = " + one.score, one.end);
}
const Groups kGroups[] = {
    {1, 256, 1024, 128, 64},
    {1, 300, 1000, 128, 32, "max", "path: tiles, tile: 128x128, cluster: 2", "it + bias", "it * scale"},
    {2, 130, 333, 72, 16, "min", "path: tiles, tile: 64x256", "select(isnan(it), inf, it)"},
    {3, 70, 200, 64, 8, "sum", "path: tiles, tile: 64x64", "relu(it + bias)"},
    {1, 500, 512, 64, 64, "max", "path: tiles, tile: 128x256, turns: yes", "it", "it", "f16"},
    {1, 64, 5000, 64, 16, "max", "path: tiles, tile: 64x128", "it", "it", "f16"},
    {1, 300, 1000, 70, 32, "max", "path: f32x3, tile: 128x128", "it + bias", "it", "f32"},
    {2, 65, 100, 64, 8, "min", "path: f32x3", "it", "it * scale", "f32"},
};

using MatmulReduceTilesTest = testing::CudaProgramTest;
using MatmulReduceTilesOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(MatmulReduceTilesTest, EveryCaseCompilesWithoutSpillsAndMultipliesOnTheTensorCores) {
  for (const Case& one : kCases) {
    for (const auto type : {"f16", "bf16"}) {
      const std::string text = Text(one, type);
      SCOPED_TRACE(text);
      const auto lowered = Lowered(text);
      ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
      const auto built = Build(std::get<KernelProgram>(lowered));
      ASSERT_EQ(built.launches.size(), 2u);
      EXPECT_EQ(built.launches[0].spill_load_bytes + built.launches[0].spill_store_bytes, 0);
      EXPECT_TRUE(built.launches[0].instructions.contains("HGMMA"));
    }
  }
}

TEST_F(MatmulReduceTilesTest, ProductsOfF32AreThreeOfHalves) {
  for (const Case& one : kCasesOfF32) {
    const std::string text = Text(one, "f32", "f32x3");
    SCOPED_TRACE(text);
    const auto built = BuiltOf(text);
    ASSERT_EQ(built.launches.size(), 4u);
    EXPECT_EQ(built.launches[2].spill_load_bytes + built.launches[2].spill_store_bytes, 0);
    EXPECT_TRUE(built.launches[2].instructions.contains("HGMMA"));
  }
}

TEST_F(MatmulReduceTilesTest, GroupsOfColumnsAreTheResultWithoutASecondKernel) {
  for (const Groups& one : kGroups) {
    const std::string text = Text(one);
    SCOPED_TRACE(text);
    const auto built = BuiltOf(text);
    ASSERT_EQ(built.launches.size(), one.type == "f32" ? 3u : 1u);
    const auto& products = built.launches.back();
    EXPECT_EQ(products.spill_load_bytes + products.spill_store_bytes, 0);
    EXPECT_TRUE(products.instructions.contains("HGMMA"));
  }
}

TEST_F(MatmulReduceTilesTest, RowsThatAreCutCompileLikewise) {
  for (const int first : {0, 1}) {
    const auto built = BuiltOf(CutText(first, "bf16"));
    ASSERT_EQ(built.launches.size(), 2u);
    EXPECT_EQ(built.launches[0].spill_load_bytes + built.launches[0].spill_store_bytes, 0);
    EXPECT_TRUE(built.launches[0].instructions.contains("HGMMA"));
  }
}

TEST_F(MatmulReduceTilesTest, IsWhatManyRowsTakeAndFewDoNot) {
  const auto path = [&](std::int64_t rows, const std::string& variant) {
    const auto lowered = Lowered(fmt::format(
        "input q: f16[{0}, 64]\ninput d: f16[900, 64]\noutput y: f32[{0}]\nview t = d: [64, 900] strides [1, 64]\n"
        "y = matmul_reduce {1}(q, t)",
        rows, variant));
    const auto* program = std::get_if<KernelProgram>(&lowered);
    return program ? dsl::WordSetting(program->kernels[0], "path") : ToString(std::get<dsl::Complaint>(lowered));
  };
  EXPECT_EQ(path(65, "max"), "tiles");
  EXPECT_EQ(path(64, "max"), "ring");
  EXPECT_EQ(path(64, "logsumexp"), "tiles");
}

TEST_F(MatmulReduceTilesTest, WhatCannotBeIsSaid) {
  const auto complaint = [&](const std::string& text) {
    const auto lowered = Lowered(text);
    const auto* said = std::get_if<dsl::Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  EXPECT_EQ(complaint(Text({1, 65, 64, 64, "max", ""}, "f32")),
            "'path' tiles: it is for operands that are both f16, or both bf16; try f32x3");
  EXPECT_EQ(complaint(Text({1, 65, 64, 64, "max", ""}, "bf16", "f32x3")),
            "'path' f32x3: it splits operands of f32, and these have 16 bits; try tiles");
  EXPECT_EQ(complaint(Text({1, 65, 64, 60, "max", ""}, "f16")),
            "'path' tiles: both operands have to lie in lines, along K or across it, at multiples of 16 bytes");
  EXPECT_EQ(complaint(Text(Groups{1, 65, 64, 64, 12})),
            "'path' tiles: tiles fold groups of 8, 16, 32 or 64 columns, not of 12");
  EXPECT_EQ(complaint(Text(Groups{1, 64, 64, 64, 8, "max", "path: ring"})),
            "'path' ring: it folds whole rows, and these are folded in groups; try tiles");
  EXPECT_EQ(complaint(Text(Groups{1, 64, 64, 64, 8, "logsumexp", ""})),
            "logsumexp is of whole rows: groups are folded by sum, max and min; remove 'group'");
}

TEST_F(MatmulReduceTilesOnDeviceTest, ComputesWhatTheProgramSays) {
  for (const Case& one : kCases) {
    for (const auto type : {"f16", "bf16"}) {
      const std::string text = Text(one, type);
      SCOPED_TRACE(text);
      ExpectWhatItSays(text, 1e-2);
    }
  }
  for (const Case& one : kCasesOfF32) {
    const std::string text = Text(one, "f32", "f32x3");
    SCOPED_TRACE(text);
    ExpectWhatItSays(text, 1e-4);
  }
}

TEST_F(MatmulReduceTilesOnDeviceTest, GroupsOfColumnsAreWhatTheProgramSays) {
  for (const Groups& one : kGroups) {
    const std::string text = Text(one);
    SCOPED_TRACE(text);
    ExpectWhatItSays(text, one.type == "f32" ? 1e-4 : 1e-2);
  }
}

TEST_F(MatmulReduceTilesOnDeviceTest, RowsMayBeCut) {
  for (const int first : {0, 1}) {
    for (const auto type : {"f16", "bf16"}) ExpectWhatItSays(CutText(first, type), 1e-2);
  }
}

}  // namespace
}  // namespace hone
