#include "analysis/zero_terms.h"

#include <gtest/gtest.h>

#include <string>

#include "graph/testing/small_problem.h"

namespace hone {
namespace {

using testing::SmallGraph;

// Of how many terms the sums are, one behind the other; "" where none has terms to lose.
std::string TermsOf(const std::string& inputs, const std::string& outputs, const std::string& nodes) {
  const auto graph = WithoutZeroTerms(SmallGraph("fp32", inputs, outputs, nodes));
  if (!graph) return "";
  std::string terms;
  for (const Stage& stage : graph->stages()) {
    VisitOuterFolds(stage.value, [&](const ExprNode& fold) {
      for (const IndexVar& var : fold.over) terms += (terms.empty() ? "" : " ") + std::to_string(var.extent);
    });
  }
  return terms;
}

// cos(i * j) over 16 x 16.
constexpr const char* kTable = R"({"op": "aten.arange.start_step", "args": {"start": 0, "end": 16}, "outputs": ["i"]},
  {"op": "aten._to_copy", "args": {"self": "%i", "dtype": "f32"}, "outputs": ["reals"]},
  {"op": "aten.unsqueeze", "args": {"self": "%reals", "dim": 1}, "outputs": ["rows"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%rows", "other": "%reals"}, "outputs": ["products"]},
  {"op": "aten.cos", "args": {"self": "%products"}, "outputs": ["table"]},)";

std::string Nodes(const std::string& rest) { return std::string("[").append(kTable).append(rest).append("]"); }

TEST(ZeroTermsTest, WhatWasPaddedIsNotMultipliedWithATable) {
  EXPECT_EQ(TermsOf("x f32 4x6", "y f32 4x16", Nodes(R"(
      {"op": "aten.constant_pad_nd", "args": {"self": "%x", "pad": [3, 7], "value": 0.0}, "outputs": ["p"]},
      {"op": "aten.mm", "args": {"self": "%p", "mat2": "%table"}, "outputs": ["y"]})")),
            "6");
}

TEST(ZeroTermsTest, InfinitiesTimesZeroAreNoZeros) {
  EXPECT_EQ(TermsOf("x f32 4x6, w f32 16x16", "y f32 4x16", R"([
      {"op": "aten.constant_pad_nd", "args": {"self": "%x", "pad": [3, 7], "value": 0.0}, "outputs": ["p"]},
      {"op": "aten.mm", "args": {"self": "%p", "mat2": "%w"}, "outputs": ["y"]}])"),
            "");
  EXPECT_EQ(TermsOf("x f32 4x6", "y f32 4x16", Nodes(R"(
      {"op": "aten.constant_pad_nd", "args": {"self": "%x", "pad": [3, 7], "value": 1.0}, "outputs": ["p"]},
      {"op": "aten.mm", "args": {"self": "%p", "mat2": "%table"}, "outputs": ["y"]})")),
            "");
}

TEST(ZeroTermsTest, ZerosAreFoundThroughProductsAndOtherShapes) {
  // Of 2 x 8 places of which the first three are filled in, the rows of a product, whose columns are summed up then.
  EXPECT_EQ(TermsOf("x f32 2x3x16", "y f32 2x16", Nodes(R"(
      {"op": "aten.constant_pad_nd", "args": {"self": "%x", "pad": [0, 0, 0, 5], "value": 0.0}, "outputs": ["p"]},
      {"op": "aten.view", "args": {"self": "%p", "size": [16, 16]}, "outputs": ["flat"]},
      {"op": "aten.mm", "args": {"self": "%flat", "mat2": "%table"}, "outputs": ["m"]},
      {"op": "aten.view", "args": {"self": "%m", "size": [2, 8, 16]}, "outputs": ["three"]},
      {"op": "aten.permute", "args": {"self": "%three", "dims": [0, 2, 1]}, "outputs": ["turned"]},
      {"op": "aten.sum.dim_IntList", "args": {"self": "%turned", "dim": [2]}, "outputs": ["y"]})")),
            "16 3");
}

TEST(ZeroTermsTest, SumsOfNothingAndOfWhatHasNoElementsStay) {
  EXPECT_EQ(TermsOf("x f32 0x4x4, z f32 4x0", "y f32 0x16, s f32 2x0", Nodes(R"(
      {"op": "aten.view", "args": {"self": "%x", "size": [0, 16]}, "outputs": ["p"]},
      {"op": "aten.mm", "args": {"self": "%p", "mat2": "%table"}, "outputs": ["y"]},
      {"op": "aten.exp", "args": {"self": "%z"}, "outputs": ["e"]},
      {"op": "aten.view", "args": {"self": "%e", "size": [2, 2, 0]}, "outputs": ["v"]},
      {"op": "aten.sum.dim_IntList", "args": {"self": "%v", "dim": [1]}, "outputs": ["s"]})")),
            "");
}

TEST(ZeroTermsTest, NothingIsLeftOfASumOfZeros) {
  const auto graph = WithoutZeroTerms(SmallGraph("fp32", "x f32 4x16", "y f32 4x16", Nodes(R"(
      {"op": "aten.full", "args": {"size": [4, 16], "fill_value": 0.0, "dtype": "f32"}, "outputs": ["z"]},
      {"op": "aten.mm", "args": {"self": "%z", "mat2": "%table"}, "outputs": ["m"]},
      {"op": "aten.add.Tensor", "args": {"self": "%x", "other": "%m"}, "outputs": ["y"]})")));
  ASSERT_TRUE(graph);
  for (const Stage& stage : graph->stages()) EXPECT_FALSE(HasReduce(stage.value));
}

}  // namespace
}  // namespace hone
