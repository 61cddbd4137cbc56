#include "analysis/reread.h"

#include <gtest/gtest.h>

#include "graph/testing/small_problem.h"

namespace hone {
namespace {

using testing::SmallGraph;

// x / sqrt(sum of squares over `dim`), [10, 100].
Graph Norm(const std::string& dim, const std::string& kept) {
  return SmallGraph("fp32", "x f32 10x100", "y f32 10x100",
                    R"([{"op": "linalg_vector_norm", "args": {"self": "%x", "ord": 2, "dim": )" + dim +
                        R"(, "keepdim": )" + kept + R"(}, "outputs": ["n"]},
                        {"op": "div.Tensor", "args": {"self": "%x", "other": "%n"}, "outputs": ["y"]}])");
}

TEST(RereadTest, WhatOutgrowsTheCacheIsReadAgainAfterItsSum) {
  EXPECT_EQ(RereadBytes(Norm("null", "false"), 1000), 4000 - 1000);
  EXPECT_EQ(RereadBytes(Norm("null", "false"), 4000), 0);
}

TEST(RereadTest, EveryRowIsAGroupByItself) {
  EXPECT_EQ(RereadBytes(Norm("[1]", "true"), 100), 10 * (400 - 100));
  EXPECT_EQ(RereadBytes(Norm("[1]", "true"), 400), 0);
}

TEST(RereadTest, ASoftmaxHasSuchASum) {
  const Graph softmax = SmallGraph("fp32", "x f32 10x100", "y f32 10x100",
                                   R"([{"op": "_softmax", "args": {"self": "%x", "dim": -1}, "outputs": ["y"]}])");
  EXPECT_EQ(RereadBytes(softmax, 100), 10 * (400 - 100));
}

TEST(RereadTest, WithoutTheElementOrWithoutTheSumOnceIsEnough) {
  const Graph sum =
      SmallGraph("fp32", "x f32 1000", "y f32 -", R"([{"op": "sum", "args": {"self": "%x"}, "outputs": ["y"]}])");
  EXPECT_EQ(RereadBytes(sum, 100), 0);
  const Graph map =
      SmallGraph("fp32", "x f32 1000", "y f32 1000", R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["y"]}])");
  EXPECT_EQ(RereadBytes(map, 100), 0);
  const Graph other = SmallGraph("fp32", "x f32 1000, z f32 1000", "y f32 1000",
                                 R"([{"op": "sum", "args": {"self": "%x"}, "outputs": ["s"]},
                                     {"op": "div.Tensor", "args": {"self": "%z", "other": "%s"}, "outputs": ["y"]}])");
  EXPECT_EQ(RereadBytes(other, 100), 0);
}

// What is compared or chosen may need less than the element.
TEST(RereadTest, OnlyArithmeticCounts) {
  const Graph sign = SmallGraph("fp32", "x f32 1000", "y f32 1000",
                                R"([{"op": "sum", "args": {"self": "%x"}, "outputs": ["s"]},
                                    {"op": "sign", "args": {"self": "%x"}, "outputs": ["t"]},
                                    {"op": "mul.Tensor", "args": {"self": "%t", "other": "%s"}, "outputs": ["y"]}])");
  EXPECT_EQ(RereadBytes(sign, 100), 0);
}

}  // namespace
}  // namespace hone
