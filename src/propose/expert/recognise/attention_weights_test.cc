// Attention without a softmax: scores are weights themselves, by themselves or over the sum of their row.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

// 12 heads, 512 queries and keys; WEIGHTS makes `weights` of `products`, and END the result of `whole`. `role`: of
// keys.
std::string Weights(std::string_view weights, std::string_view end = "", std::string_view role = "input") {
  std::string text = R"({"hone_problem": 1, "name": "weights", "tensors": [
  {"name": "q", "shape": [12, 512, 64], "dtype": "f16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "k", "shape": [12, 512, 64], "dtype": "f16", "role": "ROLE", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "v", "shape": [12, 512, 64], "dtype": "f16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "mask", "shape": [512, 512], "dtype": "f16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [12, 512, 64], "dtype": "f16", "role": "output"}],
 "graph": [{"op": "aten.permute.default", "args": {"self": "%k", "dims": [0, 2, 1]}, "outputs": ["kt"]},
  {"op": "aten.bmm.default", "args": {"self": "%q", "mat2": "%kt"}, "outputs": ["products"]},
  {"op": "aten.arange.start_step", "args": {"start": 0, "end": 512}, "outputs": ["place"]},
  {"op": "aten.unsqueeze.default", "args": {"self": "%place", "dim": 1}, "outputs": ["query"]},
  {"op": "aten.lt.Tensor", "args": {"self": "%query", "other": "%place"}, "outputs": ["later"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%products", "other": 0.125}, "outputs": ["scores"]},
  WEIGHTS,
  {"op": "aten.bmm.default", "args": {"self": "%weights", "mat2": "%v"}, "outputs": ["MADE"]}END]})";
  const auto replace = [&](std::string_view what, std::string_view with) {
    text.replace(text.find(what), what.size(), with);
  };
  replace("ROLE", role);
  replace("WEIGHTS", weights);
  replace("MADE", end.empty() ? "y" : "whole");
  replace("END", end.empty() ? "" : ",\n  " + std::string(end));
  return text;
}

constexpr std::string_view kRelu =
    R"({"op": "aten.masked_fill.Scalar", "args": {"self": "%scores", "mask": "%later", "value": {"real": "-inf"}}, "outputs": ["seen"]},
  {"op": "aten.relu.default", "args": {"self": "%seen"}, "outputs": ["weights"]})";

TEST(AttentionWeightsTest, AScoreOfMinusInfinityThatBecomesZeroHides) {
  const std::string program = WrittenText(Weights(kRelu));
  EXPECT_NE(program.find("y = attention(q, k, v) by {causal: 1, softmax: 0}\n  let score = relu(it * 0.125)\n"),
            std::string::npos)
      << program;
}

TEST(AttentionWeightsTest, SoDoesAFactorOfZero) {
  const std::string program = WrittenText(
      Weights(R"({"op": "aten.le.Tensor", "args": {"self": "%place", "other": "%query"}, "outputs": ["sees"]},
  {"op": "aten._to_copy.default", "args": {"self": "%sees", "dtype": "f16"}, "outputs": ["one"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%scores", "other": "%mask"}, "outputs": ["masked"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%masked", "other": "%one"}, "outputs": ["weights"]})"));
  EXPECT_NE(program.find("y = attention(q, k, v) by {causal: 1, softmax: 0}\n  let score = it * 0.125 * mask\n"),
            std::string::npos)
      << program;
}

TEST(AttentionWeightsTest, WhatIsMadeElsewhereIsReadAndStillHides) {
  const std::string program = WrittenText(
      Weights(R"({"op": "aten.sub.Tensor", "args": {"self": "%place", "other": "%query"}, "outputs": ["ahead"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%ahead", "other": 0.01}, "outputs": ["by"]},
  {"op": "aten.exp.default", "args": {"self": "%by"}, "outputs": ["power"]},
  {"op": "aten.tril.default", "args": {"self": "%power"}, "outputs": ["decay"]},
  {"op": "aten._to_copy.default", "args": {"self": "%decay", "dtype": "f16"}, "outputs": ["keeps"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%scores", "other": "%keeps"}, "outputs": ["weights"]})"));
  EXPECT_NE(program.find("y = attention(q, k, v) by {causal: 1, softmax: 0}\n"), std::string::npos) << program;
}

TEST(AttentionWeightsTest, SigmoidsAreNotDividedByTheirSum) {
  const std::string program =
      WrittenText(Weights(R"({"op": "aten.add.Tensor", "args": {"self": "%scores", "other": -4}, "outputs": ["less"]},
  {"op": "aten.sigmoid.default", "args": {"self": "%less"}, "outputs": ["weights"]})"));
  EXPECT_NE(program.find("y = attention(q, k, v) by {softmax: 0}\n  let score = sigmoid(it * 0.125 + -4)\n"),
            std::string::npos)
      << program;
}

TEST(AttentionWeightsTest, WeightsMayBeDividedByTheirSumBeforeOrAfter) {
  constexpr std::string_view kSum =
      R"({"op": "aten.relu.default", "args": {"self": "%scores"}, "outputs": ["positive"]},
  {"op": "aten.sum.dim_IntList", "args": {"self": "%positive", "dim": [-1], "keepdim": true}, "outputs": ["sum"]},
  {"op": "aten.add.Tensor", "args": {"self": "%sum", "other": 1e-6}, "outputs": ["total"]},
  )";
  const std::string before = WrittenText(Weights(
      std::string(kSum) +
      R"({"op": "aten.div.Tensor", "args": {"self": "%positive", "other": "%total"}, "outputs": ["weights"]})"));
  const std::string after = WrittenText(Weights(
      std::string(kSum) + R"({"op": "aten.clone.default", "args": {"self": "%positive"}, "outputs": ["weights"]})",
      R"({"op": "aten.div.Tensor", "args": {"self": "%whole", "other": "%total"}, "outputs": ["y"]})"));
  for (const std::string& program : {before, after}) {
    EXPECT_NE(program.find("y = attention(q, k, v) by {softmax: 0}\n  let score = relu(it * 0.125)\n"
                           "  -> it / (total() + 1e-06)\n"),
              std::string::npos)
        << program;
  }
}

TEST(AttentionWeightsTest, ProductsWithParametersAreLayers) {
  const std::string program = WrittenText(Weights(kRelu, "", "parameter"));
  EXPECT_EQ(program.find("attention("), std::string::npos) << program;
}

}  // namespace
}  // namespace hone::expert
