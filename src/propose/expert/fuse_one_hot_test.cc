// Products with rows of zeros and a one: what the expert makes of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

constexpr std::string_view kNormal = R"({"kind": "normal", "mean": 0, "deviation": 1})",
                           kWholes = R"({"kind": "integer", "low": 0, "high": 100})";

std::string OneHot(std::string_view nodes, std::string_view type = "f32", std::string_view weights = kNormal) {
  return fmt::format(R"({{"hone_problem": 1, "name": "classes", "tensors": [
  {{"name": "i", "shape": [1024], "dtype": "i64", "role": "input", "generator": {{"kind": "integer", "low": 0, "high": 512}}}},
  {{"name": "x", "shape": [1024, 512], "dtype": "f32", "role": "input", "generator": {{"kind": "uniform", "low": 0, "high": 1}}}},
  {{"name": "w", "shape": [512, 64], "dtype": "{1}", "role": "parameter", "generator": {2}}},
  {{"name": "y", "shape": [1024, 64], "dtype": "{1}", "role": "output"}}],
 "graph": [{0}]}})",
                     nodes, type, weights);
}

// As torch.nn.functional.one_hot is traced.
TEST(FuseOneHotTest, ClassesTimesAMatrixAreRowsOfIt) {
  const std::string program = WrittenText(OneHot(
      R"({"op": "aten.arange.start_step", "args": {"start": 0, "end": 512}, "outputs": ["classes"]},
  {"op": "aten.unsqueeze.default", "args": {"self": "%i", "dim": 1}, "outputs": ["column"]},
  {"op": "aten.eq.Tensor", "args": {"self": "%column", "other": "%classes"}, "outputs": ["is"]},
  {"op": "aten._to_copy.default", "args": {"self": "%is", "dtype": "i64"}, "outputs": ["whole"]},
  {"op": "aten._to_copy.default", "args": {"self": "%whole", "dtype": "f32"}, "outputs": ["hot"]},
  {"op": "aten.mm.default", "args": {"self": "%hot", "mat2": "%w"}, "outputs": ["y"]})"));
  EXPECT_EQ(program.find("matmul"), std::string::npos) << program;
  EXPECT_EQ(program.find("classes ="), std::string::npos) << program;
  EXPECT_NE(program.find("w[i_view[j, 0], k]"), std::string::npos) << program;
}

TEST(FuseOneHotTest, RowsOfWholeNumbersAreThatToo) {
  const std::string program = WrittenText(OneHot(
      R"({"op": "aten.arange.start_step", "args": {"start": 0, "end": 512}, "outputs": ["classes"]},
  {"op": "aten.unsqueeze.default", "args": {"self": "%i", "dim": 1}, "outputs": ["column"]},
  {"op": "aten.eq.Tensor", "args": {"self": "%column", "other": "%classes"}, "outputs": ["is"]},
  {"op": "aten._to_copy.default", "args": {"self": "%is", "dtype": "i64"}, "outputs": ["hot"]},
  {"op": "aten.mm.default", "args": {"self": "%hot", "mat2": "%w"}, "outputs": ["y"]})",
      "i64", kWholes));
  EXPECT_EQ(program.find("classes ="), std::string::npos) << program;
  EXPECT_NE(program.find("w[i_view[j, 0], k], 0)"), std::string::npos) << program;
}

// As a codebook's quantizer takes the nearest code.
TEST(FuseOneHotTest, WhatIsScatteredIntoZerosLooksUpARow) {
  const std::string program = WrittenText(OneHot(
      R"({"op": "aten.full.default", "args": {"size": [1024, 512], "fill_value": 0.0, "dtype": "f32"}, "outputs": ["none"]},
  {"op": "aten.argmin.default", "args": {"self": "%x", "dim": 1}, "outputs": ["nearest"]},
  {"op": "aten.unsqueeze.default", "args": {"self": "%nearest", "dim": 1}, "outputs": ["column"]},
  {"op": "aten.scatter.value", "args": {"self": "%none", "dim": 1, "index": "%column", "value": 1}, "outputs": ["hot"]},
  {"op": "aten.mm.default", "args": {"self": "%hot", "mat2": "%w"}, "outputs": ["y"]})"));
  EXPECT_EQ(program.find("matmul"), std::string::npos) << program;
  EXPECT_NE(program.find("reduce argmin(x)"), std::string::npos) << program;
}

// Two in a row are a product: a row is the sum of two.
TEST(FuseOneHotTest, OtherRowsAreMultiplied) {
  const std::string program = WrittenText(OneHot(
      R"({"op": "aten.gt.Scalar", "args": {"self": "%x", "other": 0.5}, "outputs": ["is"]},
  {"op": "aten._to_copy.default", "args": {"self": "%is", "dtype": "f32"}, "outputs": ["hot"]},
  {"op": "aten.mm.default", "args": {"self": "%hot", "mat2": "%w"}, "outputs": ["y"]})"));
  EXPECT_NE(program.find("matmul"), std::string::npos) << program;
}

}  // namespace
}  // namespace hone::expert
