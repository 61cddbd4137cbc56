// What is looked up for folds, and folds of folds: nests whose terms are never in memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

// Rows of a table, chosen by places of [rows, 7, 5], added up by fives, and the largest of seven such sums.
std::string Bags(std::int64_t rows) {
  return fmt::format(R"({{"hone_problem": 1, "name": "bags", "tensors": [
  {{"name": "t", "shape": [100, 64], "dtype": "f32", "role": "input", "generator": {{"kind": "uniform", "low": 0, "high": 1}}}},
  {{"name": "c", "shape": [{0}, 7, 5], "dtype": "i64", "role": "input", "generator": {{"kind": "integer", "low": 0, "high": 100}}}},
  {{"name": "y", "shape": [{0}, 64], "dtype": "f32", "role": "output"}}],
 "graph": [{{"op": "aten.embedding.default", "args": {{"weight": "%t", "indices": "%c"}}, "outputs": ["rows"]}},
  {{"op": "aten.sum.dim_IntList", "args": {{"self": "%rows", "dim": [2]}}, "outputs": ["sums"]}},
  {{"op": "aten.amax.default", "args": {{"self": "%sums", "dim": [1]}}, "outputs": ["y"]}}]}})",
                     rows);
}

TEST(NestedFoldsTest, RowsAreLookedUpInTheFoldOfTheirFolds) {
  const std::string program = WrittenText(Bags(2000));
  EXPECT_NE(program.find("y = nest [i < 2000, j < 64] (max [k < 7] (sum [l < 5] (t["), std::string::npos) << program;
  EXPECT_EQ(program.find("sums"), std::string::npos) << program;
}

TEST(NestedFoldsTest, FewResultsLeaveTheFoldAroundThemApart) {
  const std::string program = WrittenText(Bags(200));
  EXPECT_NE(program.find("sums = nest [i < 1400, j < 64] (sum [k < 5] (t["), std::string::npos) << program;
  EXPECT_NE(program.find("y = reduce max("), std::string::npos) << program;
}

TEST(NestedFoldsTest, TakenBackRowsAreCopied) {
  const std::string program = WrittenText(Bags(2000), {.maps = false});
  EXPECT_NE(program.find("rows = nest"), std::string::npos) << program;
}

// Matrices of experts that are chosen by row, each times its row alone: nothing of them is read twice.
TEST(NestedFoldsTest, MatricesThatAreChosenByRowAreReadAsTheyLie) {
  const std::string program = WrittenText(R"({"hone_problem": 1, "name": "chosen", "tensors": [
  {"name": "x", "shape": [128, 256], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "w", "shape": [8, 512, 256], "dtype": "bf16", "role": "parameter", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "c", "shape": [128], "dtype": "i64", "role": "input", "generator": {"kind": "integer", "low": 0, "high": 8}},
  {"name": "y", "shape": [128, 512, 1], "dtype": "bf16", "role": "output"}],
 "graph": [{"op": "aten.index.Tensor", "args": {"self": "%w", "indices": ["%c"]}, "outputs": ["own"]},
  {"op": "aten.unsqueeze.default", "args": {"self": "%x", "dim": -1}, "outputs": ["column"]},
  {"op": "aten.bmm.default", "args": {"self": "%own", "mat2": "%column"}, "outputs": ["y"]}]})");
  EXPECT_NE(program.find(" = nest [i < 128, j < 512] (sum [k < 256] (w["), std::string::npos) << program;
  EXPECT_EQ(program.find("own"), std::string::npos) << program;
}

TEST(NestTest, AScalarMayReadAnElementOfARowAndStayAFold) {
  const std::string program = WrittenText(R"({"hone_problem": 1, "name": "scalar", "tensors": [
  {"name": "x", "shape": [4096], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "w", "shape": [9], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [], "dtype": "f32", "role": "output"}],
 "graph": [{"op": "aten.amax.default", "args": {"self": "%x", "dim": [0]}, "outputs": ["largest"]},
  {"op": "aten.select.int", "args": {"self": "%w", "dim": 0, "index": 5}, "outputs": ["fifth"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%largest", "other": "%fifth"}, "outputs": ["y"]}]})");
  EXPECT_NE(program.find("= w: [] strides [] offset 5"), std::string::npos) << program;
  EXPECT_NE(program.find("y = reduce max(x) over [0]"), std::string::npos) << program;
}

// Pairs of numbers, turned and laid side by side again, are a row in two dimensions more than what is made of them has.
TEST(NestTest, WhatIsMadeOfPairsIsMadeWhereTheyAre) {
  const std::string program = WrittenText(R"({"hone_problem": 1, "name": "pairs", "tensors": [
  {"name": "x", "shape": [64, 128], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [64, 128], "dtype": "bf16", "role": "output"}],
 "graph": [{"op": "aten._to_copy.default", "args": {"self": "%x", "dtype": "f32"}, "outputs": ["wide"]},
  {"op": "aten.view.default", "args": {"self": "%wide", "size": [64, 64, 2]}, "outputs": ["pairs"]},
  {"op": "aten.select.int", "args": {"self": "%pairs", "dim": 2, "index": 0}, "outputs": ["a"]},
  {"op": "aten.select.int", "args": {"self": "%pairs", "dim": 2, "index": 1}, "outputs": ["b"]},
  {"op": "aten.neg.default", "args": {"self": "%b"}, "outputs": ["c"]},
  {"op": "aten.stack.default", "args": {"tensors": ["%c", "%a"], "dim": -1}, "outputs": ["turned"]},
  {"op": "aten.view.default", "args": {"self": "%turned", "size": [64, 128]}, "outputs": ["row"]},
  {"op": "aten._to_copy.default", "args": {"self": "%row", "dtype": "bf16"}, "outputs": ["y"]}]})");
  EXPECT_NE(program.find("y: [64, 128] = nest [i < "), std::string::npos) << program;
  EXPECT_EQ(program.find("turned"), std::string::npos) << program;
  EXPECT_EQ(program.find("map("), std::string::npos) << program;
}

}  // namespace
}  // namespace hone::expert
