// Which products of groups of rows become grouped_matmul.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"
#include "target/shipped_model.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

// 100 rows in 6 groups, whose ends are data; behind the product what `end` makes of `made`.
std::string Grouped(const std::string& type = "bf16", const std::string& mat2 = "wt", const std::string& end = "") {
  const std::string drawn = R"("generator": {"kind": "uniform", "low": 0, "high": 1})";
  return fmt::format(R"({{"hone_problem": 1, "name": "experts", "tensors": [
  {{"name": "x", "shape": [100, 64], "dtype": "{0}", "role": "input", {1}}},
  {{"name": "w", "shape": [6, {4}], "dtype": "{0}", "role": "parameter", {1}}},
  {{"name": "ends", "shape": [6], "dtype": "i32", "role": "input", "generator": {{"kind": "integer", "low": 0, "high": 100}}}},
  {{"name": "y", "shape": [100, 96], "dtype": "{0}", "role": "output"}}],
 "graph": [{{"op": "aten.permute.default", "args": {{"self": "%w", "dims": [0, 2, 1]}}, "outputs": ["wt"]}},
  {{"op": "aten._grouped_mm.default", "args": {{"self": "%x", "mat2": "%{2}", "offs": "%ends"}}, "outputs": ["{5}"]}}{3}]}})",
                     type, drawn, mat2, end, mat2 == "w" ? "64, 96" : "96, 64", end.empty() ? "y" : "made");
}

TEST(GroupedProductTest, RowsTimesTheMatrixOfTheirGroupAreOneStatement) {
  const std::string program = WrittenText(Grouped());
  EXPECT_NE(program.find("y = grouped_matmul(x, w_view, ends)"), std::string::npos) << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
  const std::string across = WrittenText(Grouped("bf16", "w"));  // as the matrices of groups lie without a transpose
  EXPECT_NE(across.find("y = grouped_matmul(x, w, ends)"), std::string::npos) << across;
}

TEST(GroupedProductTest, WhatComesBehindGoesIntoIt) {
  const std::string program = WrittenText(
      Grouped("f16", "wt", R"(, {"op": "aten.relu.default", "args": {"self": "%made"}, "outputs": ["y"]})"));
  EXPECT_NE(program.find("y = grouped_matmul(x, w_view, ends)"), std::string::npos) << program;
  EXPECT_NE(program.find("-> relu(it)"), std::string::npos) << program;
}

// Experts of gates: of a matrix each for the gate and what it gates, or of one whose product is cut in two, at a column
// or into every other one.
enum class Gates { kTwoMatrices, kHalves, kEveryOther };
std::string Gated(Gates gates, int depth = 64) {
  const bool one_matrix = gates != Gates::kTwoMatrices;
  const std::string_view first = gates == Gates::kHalves ? R"("start": 0, "end": 96)" : R"("start": 0, "step": 2)",
                         second = gates == Gates::kHalves ? R"("start": 96, "end": 192)" : R"("start": 1, "step": 2)";
  const std::string drawn = R"("generator": {"kind": "uniform", "low": 0, "high": 1})", of_two = R"(
  {"op": "aten._grouped_mm.default", "args": {"self": "%x", "mat2": "%g", "offs": "%ends"}, "outputs": ["a"]},
  {"op": "aten._grouped_mm.default", "args": {"self": "%x", "mat2": "%u", "offs": "%ends"}, "outputs": ["b"]},)",
                    of_one = fmt::format(R"(
  {{"op": "aten._grouped_mm.default", "args": {{"self": "%x", "mat2": "%gu", "offs": "%ends"}}, "outputs": ["both"]}},
  {{"op": "aten.slice.Tensor", "args": {{"self": "%both", "dim": 1, {0}}}, "outputs": ["a"]}},
  {{"op": "aten.slice.Tensor", "args": {{"self": "%both", "dim": 1, {1}}}, "outputs": ["b"]}},)",
                                         first, second);
  const std::string two = fmt::format(
                        R"({{"name": "g", "shape": [6, {1}, 96], "dtype": "bf16", "role": "parameter", {0}}},
  {{"name": "u", "shape": [6, {1}, 96], "dtype": "bf16", "role": "parameter", {0}}},)",
                        drawn, depth),
                    one = fmt::format(
                        R"({{"name": "gu", "shape": [6, {1}, 192], "dtype": "bf16", "role": "parameter", {0}}},)",
                        drawn, depth);
  return fmt::format(R"({{"hone_problem": 1, "name": "gated", "tensors": [
  {{"name": "x", "shape": [100, {3}], "dtype": "bf16", "role": "input", {0}}}, {1}
  {{"name": "ends", "shape": [6], "dtype": "i32", "role": "input", "generator": {{"kind": "integer", "low": 0, "high": 100}}}},
  {{"name": "y", "shape": [100, 96], "dtype": "bf16", "role": "output"}}],
 "graph": [{2}
  {{"op": "silu", "args": {{"self": "%a"}}, "outputs": ["s"]}},
  {{"op": "mul", "args": {{"self": "%s", "other": "%b"}}, "outputs": ["y"]}}]}})",
                     drawn, one_matrix ? one : two, one_matrix ? of_one : of_two, depth);
}

TEST(GroupedProductTest, AGateAndWhatItGatesAreOneStatementForAllGroups) {
  const std::string two = WrittenText(Gated(Gates::kTwoMatrices)), one = WrittenText(Gated(Gates::kHalves));
  for (const std::string& program : {two, one}) {
    EXPECT_EQ(program.find("= grouped_matmul("), program.rfind("= grouped_matmul(")) << program;
    EXPECT_NE(program.find(" = product("), std::string::npos) << program;
    EXPECT_EQ(program.find("nest"), std::string::npos) << program;
  }
  EXPECT_NE(one.find("= gu: [6, 64, 96] strides [12288, 192, 1] offset 96\n"), std::string::npos) << one;
  // Where no kernel makes both, each is one of its own, whose groups are not looked up by anybody else.
  for (const Gates gates : {Gates::kTwoMatrices, Gates::kHalves}) {
    const std::string program = WrittenText(Gated(gates), {}, DeviceModel{});
    EXPECT_NE(program.find("= grouped_matmul("), program.rfind("= grouped_matmul(")) << program;
    EXPECT_EQ(program.find("nest"), std::string::npos) << program;
  }
}

TEST(GroupedProductTest, OfEveryOtherColumnTheProductIsOneWithItsEnd) {
  const std::string program = WrittenText(Gated(Gates::kEveryOther));
  EXPECT_NE(program.find("both: bf16 = grouped_matmul(x, gu, ends)\n"), std::string::npos) << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
}

TEST(GroupedProductTest, GroupsOfTwoProductsThatNoKernelMakesAreLookedUpOnce) {
  const std::string program = WrittenText(Gated(Gates::kHalves, 60));
  EXPECT_EQ(program.find("grouped_matmul"), std::string::npos) << program;
  EXPECT_NE(program.find("group = nest"), std::string::npos) << program;
  EXPECT_EQ(program.find("group = nest"), program.rfind("group = nest")) << program;
}

TEST(GroupedProductTest, AProcessorHasThemInAnyType) {
  for (const char* type : {"f32", "bf16"}) {
    const std::string program = WrittenText(Grouped(type), {}, DeviceModel{});
    EXPECT_NE(program.find("y = grouped_matmul(x, w_view, ends)"), std::string::npos) << program;
  }
}

TEST(GroupedProductTest, WhatNoKernelMakesAreTheGroupsAndANest) {
  for (const std::string& program : {WrittenText(Grouped("f32")), WrittenText(Grouped(), {.products = false})}) {
    EXPECT_EQ(program.find("grouped_matmul"), std::string::npos) << program;
    EXPECT_NE(program.find("y = nest"), std::string::npos) << program;
  }
}

// A convolution of a norm of another has two pieces inside, as a gated layer has, but the norm is no product.
TEST(GroupedProductTest, ANormBetweenTwoConvolutionsIsNoGroup) {
  const auto tensor = [](const std::string& name, const std::string& shape, const std::string& role) {
    return R"({"name": ")" + name + R"(", "shape": )" + shape + R"(, "dtype": "f32", "role": ")" + role +
           (role == "output" ? R"("})" : R"(", "generator": {"kind": "uniform", "low": 0, "high": 1}})");
  };
  const auto conv = [](const std::string& x, const std::string& w, const std::string& y) {
    return R"({"op": "convolution", "args": {"input": "%)" + x + R"(", "weight": "%)" + w +
           R"(", "bias": null, "stride": [1, 1], "padding": [1, 1], "dilation": [1, 1], "transposed": false,
              "output_padding": [0, 0], "groups": 1}, "outputs": [")" +
           y + R"("]})";
  };
  const auto program = testing::Written(
      R"({"hone_problem": 1, "name": "n", "tensors": [)" + tensor("x", "[2, 3, 16, 16]", "input") + ", " +
      tensor("v", "[64, 3, 3, 3]", "parameter") + ", " + tensor("w", "[64, 64, 3, 3]", "parameter") + ", " +
      tensor("y", "[2, 64, 16, 16]", "output") + R"(], "graph": [)" + conv("x", "v", "h") +
      R"(, {"op": "native_batch_norm", "args": {"input": "%h", "weight": null, "bias": null, "running_mean": null,
            "running_var": null, "training": true, "momentum": 0.1, "eps": 1e-05}, "outputs": ["n", "", ""]},
           {"op": "relu", "args": {"self": "%n"}, "outputs": ["r"]}, )" +
      conv("r", "w", "y") + "]}");
  EXPECT_TRUE(program);
}

}  // namespace
}  // namespace hone::expert
