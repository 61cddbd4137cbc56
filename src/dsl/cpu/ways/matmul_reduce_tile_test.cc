// Rows of products folded as they are made: beside the interpreter. Whole blocks and what is left of them, batches of
// columns, groups of columns, several blocks of a row, ties, hidden columns, NaNs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dsl/testing/module.h"

namespace hone::dsl {
namespace {

struct Case {
  int batches, m, n, k;
  std::string variant = "max", score = "it", end = "it", also = "", settings = "", type = "f32";
  int group = 0;
};
const Case kCases[] = {
    {1, 40, 300, 24},
    {3, 33, 130, 17, "max", "it + bias", "it * scale"},
    {2, 9, 70, 40, "min", "select(place < 0.2, it, inf)", "relu(it)", "", "micro: 6x16, tile: 20x16, threads: 3"},
    {1, 50, 700, 33, "sum", "relu(it + bias)", "it * scale", "", "micro: 8x32, tile: 64x32"},
    {1, 70, 333, 20, "logsumexp", "it * 3 + bias", "it * scale", "", "micro: 14x32, tile: 50x32, threads: 2"},
    {2, 20, 100, 16, "logsumexp", "select(place < -9, it, -inf)"},
    {2, 20, 100, 16, "logsumexp", "select(place < 0, it * 0.5, -inf)", "it", "", "tile: 14x32, micro: 14x32"},
    {1, 40, 500, 24, "argmax", "it", "it", "it * scale"},
    {2, 30, 300, 8, "argmin", "floor(bias) + it * 0", "it * 3", "it", "micro: 4x24, tile: 21x48, threads: 2"},
    {1, 30, 200, 8, "argmax", "select(bias > 1.9, nan, bias)", "it", "select(isnan(it), 7, it)",
     "micro: 6x16, tile: 24x16"},
    {1, 30, 200, 8, "argmin", "select(place < -9, it, inf)", "it", "it", "tile: 50x32, micro: 8x32"},
    {1, 40, 300, 24, "max", "it + bias", "it * scale", "", "", "bf16"},
    {2, 20, 90, 24, "argmax", "it", "it", "it", "", "f16"},
    {1, 20, 90, 12, "logsumexp", "it", "it", "", "", "f64"},
    {1, 40, 320, 24, "max", "it", "it", "", "", "f32", 64},
    {2, 33, 130, 17, "min", "it + bias", "it * scale", "", "micro: 6x16, tile: 24x48, threads: 2", "f32", 12},
    {1, 20, 100, 9, "sum", "relu(it)", "it", "", "prepack: no", "bf16", 7},
    {1, 1, 65, 300, "max", "it", "it", "", "", "f32", 8},
};
std::string Text(const Case& one) {
  const bool places = one.variant.starts_with("arg"), groups = one.group > 0;
  const std::string result = fmt::format("[{}, {}{}]", one.batches, one.m,
                                         groups ? fmt::format(", {}", (one.n + one.group - 1) / one.group) : "");
  return fmt::format(
      "program p\nparam q: {0}[{2}, {4}]\ninput d: {0}[{1}, {3}, {4}]\ninput bias: f32[{2}, {3}]\n"
      "input place: f32[{3}]\ninput scale: f32[{1}, 1{5}]\noutput y: {6}{7}\n{8}"
      "view t = d: [{1}, {4}, {3}] strides [{9}, 1, {4}]\ny = matmul_reduce {10}(q, t){11}{12}{13} -> {14}{15}",
      one.type, one.batches, one.m, one.n, one.k, groups ? ", 1" : "",
      places              ? "i64"
      : one.type == "f64" ? "f64"
                          : "f32",
      result, one.also.empty() ? "" : fmt::format("output v: f32{}\n", result), one.n * one.k, one.variant,
      groups ? fmt::format(" by {{group: {}}}", one.group) : "",
      one.settings.empty() ? "" : fmt::format(" with {{{}}}", one.settings),
      one.score == "it" ? "" : " let score = " + one.score, one.end, one.also.empty() ? "" : " also v = " + one.also);
}

TEST(CpuMatmulReduceTest, ItGivesTheInterpretersValues) {
  std::mt19937 random(21);
  for (const Case& one : kCases) {
    const std::string text = Text(one);
    SCOPED_TRACE(text);
    testing::ExpectRight(testing::MustCheck(text), 2, random, one.type == "f64" ? 1e-9 : 1e-4);
  }
}

TEST(CpuMatmulReduceTest, WhatCannotBeIsSaid) {
  const auto said = [](const Case& one) {
    const auto parsed = Parse(Text(one));
    const auto checked = Check(std::get<Program>(parsed), nullptr);
    const auto* complaint = std::get_if<Complaint>(&checked);
    return complaint ? complaint->message : std::string("taken");
  };
  EXPECT_EQ(
      said({1, 8, 8, 20000}),
      "'matmul_reduce' has no kernel for this: K is 20000, and a block of whole columns of at most 16384 lies on a "
      "thread's stack");
  EXPECT_EQ(said({1, 8, 80, 8, "max", "it", "it", "", "tile: 20x64, micro: 8x32", "f32", 8}),
            "'tile' 20x64: the first must be a multiple of the group's 8 columns; try 24");
}

}  // namespace
}  // namespace hone::dsl
