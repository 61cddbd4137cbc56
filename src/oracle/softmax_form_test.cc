#include "oracle/softmax_form.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/small_float.h"
#include "graph/testing/small_problem.h"
#include "oracle/nudge.h"
#include "oracle/oracle.h"

namespace hone {
namespace {

using testing::SmallGraph;
using Counts = std::vector<std::size_t>;  // of shifts, quotients, logarithms

Counts Found(const std::string& tensors, const std::string& outputs, const std::string& nodes) {
  const Graph graph = SmallGraph("fp32", tensors, outputs, nodes);
  const SoftmaxNodes nodes_found = FindSoftmaxes(graph, graph.stages());
  return {nodes_found.shifts.size(), nodes_found.quotients.size(), nodes_found.logs.size()};
}

TEST(SoftmaxFormTest, SoftmaxesAreFoundInTheirDefinitions) {
  const auto of_rows = [](const char* op) {
    return Found("x f32 4x9", "y f32 4x9",
                 fmt::format(R"([{{"op": "{}", "args": {{"self": "%x", "dim": -1}}, "outputs": ["y"]}}])", op));
  };
  EXPECT_EQ(of_rows("_softmax"), (Counts{2, 1, 0}));
  EXPECT_EQ(of_rows("_safe_softmax"), (Counts{2, 1, 0}));
  EXPECT_EQ(of_rows("_log_softmax"), (Counts{2, 0, 1}));
  EXPECT_EQ(Found("q f32 2x5x8, k f32 2x7x8, v f32 2x7x8", "y f32 2x5x8",
                  R"([{"op": "scaled_dot_product_attention", "args": {"query": "%q", "key": "%k", "value": "%v"},
                       "outputs": ["y"]}])"),
            (Counts{2, 1, 0}));
}

TEST(SoftmaxFormTest, OneOfOtherTermsIsNone) {
  const std::string sums =
      R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["e"]},
          {"op": "sum", "args": {"self": "%e", "dim": [-1], "keepdim": true}, "outputs": ["s"]},
          {"op": "exp", "args": {"self": "%z"}, "outputs": ["f"]},
          {"op": "div", "args": {"self": "%f", "other": "%s"}, "outputs": ["y"]}])";
  EXPECT_EQ(Found("x f32 4x9, z f32 4x9", "y f32 4x9", sums), (Counts{0, 0, 0}));
}

// Scores of some 2000 that are rounded to bf16 may be off by eight, and the row's largest ones lie nearer than that
// here and there. What rounds otherwise is as right, and the budgets say something still.
TEST(SoftmaxFormTest, WhatRoundsScoresOtherwiseIsRight) {
  constexpr std::size_t kRows = 64, kColumns = 32;
  const Graph graph = SmallGraph("torch", "x f32 64x32, s f32 1", "y f32 64x32",
                                 R"([{"op": "mul", "args": {"self": "%x", "other": "%s"}, "outputs": ["t"]},
                                     {"op": "_to_copy", "args": {"self": "%t", "dtype": "bf16"}, "outputs": ["u"]},
                                     {"op": "_to_copy", "args": {"self": "%u", "dtype": "f32"}, "outputs": ["v"]},
                                     {"op": "_softmax", "args": {"self": "%v", "dim": -1}, "outputs": ["y"]}])");
  std::vector<float> x(kRows * kColumns);
  std::uint32_t state = 1;
  for (float& one : x) {
    state = state * 1664525 + 1013904223;
    one = static_cast<float>(state >> 8) / (1 << 24);
  }
  const float scale = 2000;
  auto oracle = Oracle::Compile(graph);
  ASSERT_TRUE(oracle.has_value()) << oracle.error().message;
  const auto expected = oracle->Run({x.data(), &scale}, 2);
  ASSERT_TRUE(expected.has_value());
  const Expected& y = (*expected)[0];
  const auto softmax = [&](std::size_t row, const auto& score) {
    double most = -HUGE_VAL, sum = 0;
    std::vector<double> p(kColumns);
    for (std::size_t i = 0; i < kColumns; ++i) most = std::max(most, score(x[row * kColumns + i]));
    for (std::size_t i = 0; i < kColumns; ++i) sum += p[i] = std::exp(score(x[row * kColumns + i]) - most);
    for (double& one : p) one /= sum;
    return p;
  };
  const auto cut = [&](float one) {  // towards zero
    return static_cast<double>(std::bit_cast<float>(std::bit_cast<std::uint32_t>(one * scale) & 0xffff0000u));
  };
  double furthest = 0, budgets = 0;
  int small = 0;
  for (std::size_t row = 0; row < kRows; ++row) {
    const auto p = softmax(row, cut);
    for (std::size_t i = 0; i < kColumns; ++i) {
      const std::size_t at = row * kColumns + i;
      EXPECT_LE(std::abs(p[i] - y.value[at]), y.budget[at]) << row << ", " << i << ": " << y.value[at];
      EXPECT_TRUE(std::isfinite(y.budget[at]));
      furthest = std::max(furthest, std::abs(p[i] - y.value[at]));
      budgets = std::max(budgets, y.budget[at]);
      small += y.budget[at] < 1e-3;
    }
  }
  EXPECT_GT(furthest, 0.2) << "otherwise nothing is shown";
  EXPECT_LE(budgets, 4) << "no share is further off than all of it, but for the honest one's factor";
  EXPECT_GT(small, static_cast<int>(kRows * kColumns) / 2) << "where one score is far above another they are sharp";
}

TEST(NudgeTest, OneInFourOfSixteenBitsIsANeighbour) {
  constexpr std::uint16_t kInfinity = 0x7f80, kOne = 0x3f80;
  int up = 0, down = 0;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const std::uint16_t bits = Nudged(kOne, kInfinity, 1, 2, i);
    up += bits == kOne + 1;
    down += bits == kOne - 1;
    EXPECT_LE(std::abs(bits - kOne), 1);
  }
  EXPECT_NEAR(up, 500, 100);
  EXPECT_NEAR(down, 500, 100);
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(Nudged(kInfinity, kInfinity, 1, 2, i), kInfinity);
    EXPECT_EQ(Nudged(std::uint16_t{0x8000}, kInfinity, 1, 2, i), 0x8000);
  }
}

}  // namespace
}  // namespace hone
