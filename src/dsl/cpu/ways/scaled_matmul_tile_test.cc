// Products of blocks with scales of their own, from packed panels: beside the interpreter.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dsl/testing/module.h"

namespace hone::dsl {
namespace {

// A scale for each block of x's rows and of K, one for each block of w's columns and of K.
struct Case {
  int m, k, n;
  int rows = 1, columns = 128, depth = 128;
  std::string type = "f8e4m3", settings = "path: tile", end = "it", result = "f32", a = "x", let = "sx_view * sw";

  std::string Text() const {
    const auto blocks = [](int extent, int size) { return (extent + size - 1) / size; };
    const int r = blocks(m, rows), c = blocks(n, columns), d = blocks(k, depth);
    return fmt::format(
        "program p\ninput x: {type}[{m}, {k}]\ninput xt: {type}[{k}, {m}]\nparam w: {type}[{n}, {k}]\n"
        "input sx: f32[{r}, {d}]\nparam sw: f32[{c}, {d}]\ninput bias: f32[{n}]\noutput y: {result}[{m}, {n}]\n"
        "view wt = w: [{k}, {n}] strides [1, {k}]\nview across = xt: [{m}, {k}] strides [1, {m}]\n"
        "view sx_view = sx: [{r}, 1, {d}] strides [{d}, 0, 1]\n"
        "y = scaled_matmul({a}, wt) by {{block: {rows}x{columns}x{depth}}} with {{{settings}}} let scale = {let} -> "
        "{end}",
        fmt::arg("type", type), fmt::arg("m", m), fmt::arg("k", k), fmt::arg("n", n), fmt::arg("r", r),
        fmt::arg("c", c), fmt::arg("d", d), fmt::arg("rows", rows), fmt::arg("columns", columns),
        fmt::arg("depth", depth), fmt::arg("settings", settings), fmt::arg("end", end), fmt::arg("result", result),
        fmt::arg("a", a), fmt::arg("let", let));
  }
};

// Blocks that end within a panel and within a part of K, and larger than all there is; what is left of each.
const Case kCases[] = {
    {37, 400, 272},
    {37, 400, 300, 1, 128, 128, "f8e5m2", "path: tile, micro: 6x64, tile: 12x128x60, threads: 3", "relu(it + bias)",
     "bf16"},
    {29, 70, 90, 4, 40, 13, "f8e4m3", "path: tile, micro: 8x32, tile: 16x32x24"},
    {29, 70, 90, 40, 1, 100, "f16", "path: tile, prepack: no"},
    {14, 640, 64, 1, 64, 320, "f32", "path: tile, micro: 14x32, tile: 14x64x512", "it + bias"},
    {15, 33, 20, 7, 10, 8, "f64", "path: tile, micro: 3x8, tile: 3x16x16", "it", "f64"},
    {20, 96, 40, 1, 40, 32, "bf16", "path: tile", "it", "f32", "exp(min(x, 0)) * x", "exp(sx_view) + sw"},
    {20, 96, 40, 1, 20, 32, "f8e4m3", "path: tile", "it", "f32", "across"},
    {1, 256, 48},
};

TEST(CpuScaledMatmulTest, ItGivesTheInterpretersValues) {
  std::mt19937 random(15);
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.Text());
    testing::ExpectRight(testing::MustCheck(one.Text()), 2, random, one.result == "bf16" ? 1e-2 : 1e-4);
  }
}

const Case kPairs[] = {
    {37, 400, 272, 1, 128, 128, "f8e4m3", "path: pairs"},
    {37, 400, 300, 1, 128, 128, "f8e5m2", "path: pairs, micro: 6x64, tile: 12x128x60, threads: 3"},
    {29, 70, 90, 4, 40, 14, "bf16", "path: pairs, micro: 8x32, tile: 16x32x24, prepack: no"},
    {29, 71, 90, 4, 40, 14, "f8e4m3", "path: pairs", "it + bias"},
    {29, 51, 40, 1, 40, 51, "f8e4m3", "path: pairs", "it", "f32", "across"},
};

TEST(CpuScaledMatmulTest, PairsGiveTheInterpretersValues) {
  if (!DescribeMachine().bf16_pairs) GTEST_SKIP() << "this processor has no products of bf16";
  std::mt19937 random(16);
  for (const Case& one : kPairs) {
    SCOPED_TRACE(one.Text());
    testing::ExpectRight(testing::MustCheck(one.Text(), testing::WithPairs()), 2, random, 1e-4);
  }
}

TEST(CpuScaledMatmulTest, PairsAreOfTwoNumbersThatShareAScale) {
  const auto way = [](const Case& one, const DeviceModel& device) {
    auto parsed = Parse(one.Text());
    const auto checked = Check(std::get<Program>(parsed), nullptr, device);
    if (const auto* said = std::get_if<Complaint>(&checked)) return said->message;
    return WordSetting(std::get<KernelProgram>(checked).kernels[0], "path");
  };
  const Case odd{29, 70, 90, 4, 40, 13, "f8e4m3", "threads: 1"}, even{29, 70, 90, 4, 40, 14, "f8e4m3", "threads: 1"};
  DeviceModel slow = testing::WithPairs();
  slow.ceilings.fma_flops_f32 = 2e11;
  slow.ceilings.matmul_flops["bf16"] = 1e11;
  EXPECT_EQ(way(odd, testing::WithPairs()), "tile");
  EXPECT_EQ(way(even, testing::WithPairs()), "pairs");
  EXPECT_EQ(way(even, slow), "tile");
  Case asked = odd;
  asked.settings = "path: pairs";
  EXPECT_EQ(way(asked, testing::WithPairs()),
            "'path' pairs: a pair would be of two blocks, of 13 elements of K each; try tile");
}

}  // namespace
}  // namespace hone::dsl
