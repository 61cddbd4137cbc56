// Which products and folds become one statement, and what is made anew for it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"
#include "target/shipped_model.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

// Scores of 50 documents' tokens with a query's, folded by `fold` along `dim` behind what `masked` makes of them.
std::string Scores(const std::string& fold = "amax", int dim = 1, const std::string& type = "f16",
                   const std::string& masked = "") {
  const std::string drawn = R"("generator": {"kind": "uniform", "low": 0, "high": 1})";
  const std::string read = masked.empty() ? "scores" : "masked";
  return fmt::format(R"({{"hone_problem": 1, "name": "scores", "tensors": [
  {{"name": "q", "shape": [32, 64], "dtype": "{0}", "role": "input", {1}}},
  {{"name": "d", "shape": [50, 100, 64], "dtype": "{0}", "role": "input", {1}}},
  {{"name": "hidden", "shape": [50, 100, 1], "dtype": "bool", "role": "input", {1}}},
  {{"name": "y", "shape": [50, {2}], "dtype": "{0}", "role": "output"}}],
 "graph": [{{"op": "aten.permute.default", "args": {{"self": "%q", "dims": [1, 0]}}, "outputs": ["qt"]}},
  {{"op": "aten.view.default", "args": {{"self": "%d", "size": [5000, 64]}}, "outputs": ["rows"]}},
  {{"op": "aten.mm.default", "args": {{"self": "%rows", "mat2": "%qt"}}, "outputs": ["mm"]}},
  {{"op": "aten.view.default", "args": {{"self": "%mm", "size": [50, 100, 32]}}, "outputs": ["scores"]}},
  {3}
  {{"op": "aten.{4}", "args": {{"self": "%{5}", "dim": [{6}]}}, "outputs": ["y"]}}]}})",
                     type, drawn, dim == 1 ? 32 : 100, masked, fold == "sum" ? "sum.dim_IntList" : fold + ".default",
                     read, dim);
}
const std::string kMasked = R"({"op": "aten.masked_fill.Scalar",
  "args": {"self": "%scores", "mask": "%hidden", "value": {"real": "-inf"}}, "outputs": ["masked"]},)";
std::size_t Statements(const std::string& program) {
  std::size_t count = 0;
  for (const std::string word : {" = matmul", " = reduce"}) {
    for (std::size_t at = 0; (at = program.find(word, at)) != std::string::npos; ++at) ++count;
  }
  return count;
}

TEST(FoldedProductTest, TheLargestOfEachTokensScoresIsOneStatement) {
  const std::string program = WrittenText(Scores());
  EXPECT_NE(program.find("y = matmul_reduce max(q, d_view)"), std::string::npos) << program;
  EXPECT_EQ(Statements(program), 1u) << program;
  EXPECT_NE(WrittenText(Scores("sum")).find("y = matmul_reduce sum(q, d_view)"), std::string::npos);
  EXPECT_NE(WrittenText(Scores("amin", 1, "bf16")).find("y = matmul_reduce min(q, d_view)"), std::string::npos);
  EXPECT_EQ(Statements(WrittenText(Scores("amax", 2))), 1u);  // other rows in each batch, by tiles
}

TEST(FoldedProductTest, AMaskGoesAlong) {
  const std::string program = WrittenText(Scores("amax", 1, "f16", kMasked));
  EXPECT_NE(program.find("let score = select(hidden_view, -inf, it)"), std::string::npos) << program;
  EXPECT_EQ(Statements(program), 1u) << program;
}

TEST(FoldedProductTest, WhatNoKernelFoldsIsTwoStatements) {
  EXPECT_EQ(Statements(WrittenText(Scores(), {.products = false})), 2u);
  EXPECT_EQ(Statements(WrittenText(Scores("amax", 1, "f32"))), 2u);
  EXPECT_EQ(Statements(WrittenText(Scores(), {}, DeviceModel{})), 2u);
}

// Of 512 rows of x, with 640 of w: something of all scores, and something that picks few.
const std::string kScores = R"(
  {"op": "aten._to_copy.default", "args": {"self": "%mm", "dtype": "f32"}, "outputs": ["scores"]})";
std::string Losses(const std::string& nodes, const std::string& outputs = "", const std::string& scores = kScores) {
  const std::string drawn = R"("generator": {"kind": "uniform", "low": 0, "high": 1})";
  return fmt::format(R"({{"hone_problem": 1, "name": "losses", "tensors": [
  {{"name": "x", "shape": [512, 64], "dtype": "bf16", "role": "input", {0}}},
  {{"name": "w", "shape": [640, 64], "dtype": "bf16", "role": "parameter", {0}}},
  {{"name": "wanted", "shape": [512, 1], "dtype": "i64", "role": "input",
    "generator": {{"kind": "integer", "low": 0, "high": 640}}}},
  {2}{{"name": "y", "shape": [512], "dtype": "f32", "role": "output"}}],
 "graph": [{{"op": "aten.permute.default", "args": {{"self": "%w", "dims": [1, 0]}}, "outputs": ["wt"]}},
  {{"op": "aten.mm.default", "args": {{"self": "%x", "mat2": "%wt"}}, "outputs": ["mm"]}},
  {3},
  {1}]}})",
                     drawn, nodes, outputs, scores);
}
const std::string kCrossEntropy = R"(
  {"op": "aten._log_softmax.default", "args": {"self": "%scores", "dim": 1, "half_to_float": false}, "outputs": ["p"]},
  {"op": "aten.gather.default", "args": {"self": "%p", "dim": 1, "index": "%wanted"}, "outputs": ["g"]},
  {"op": "aten.squeeze.dims", "args": {"self": "%g", "dim": [1]}, "outputs": ["s"]},
  {"op": "aten.neg.default", "args": {"self": "%s"}, "outputs": ["y"]})";
const std::string kAgainstDiagonal = R"(
  {"op": "aten.mul.Tensor", "args": {"self": "%scores", "other": 20}, "outputs": ["scaled"]},
  {"op": "aten.logsumexp.default", "args": {"self": "%scaled", "dim": [1]}, "outputs": ["all"]},
  {"op": "aten.diagonal.default", "args": {"self": "%scaled"}, "outputs": ["own"]},
  {"op": "aten.sub.Tensor", "args": {"self": "%all", "other": "%own"}, "outputs": ["y"]})";

TEST(FoldedProductTest, ScoresOfWhichALossPicksFewAreNeverWritten) {
  const std::string wanted = WrittenText(Losses(kCrossEntropy));
  EXPECT_NE(wanted.find("matmul_reduce logsumexp(x, w_view)"), std::string::npos) << wanted;
  EXPECT_NE(wanted.find("-> select(abs(it) == inf, nan, it)"), std::string::npos) << wanted;
  EXPECT_NE(wanted.find("y = nest [i < 512] (-(sum [j < 64] (x[i, j] * w[wanted[i, 0], j])"), std::string::npos)
      << wanted;
  EXPECT_EQ(Statements(wanted), 1u) << wanted;

  const std::string own = WrittenText(Losses(kAgainstDiagonal));
  EXPECT_NE(own.find("= matmul_reduce logsumexp(x, w_view_2)"), std::string::npos) << own;
  EXPECT_NE(own.find("let score = it * 20"), std::string::npos) << own;
  EXPECT_NE(own.find("= reduce sum(x * w"), std::string::npos) << own;
  EXPECT_EQ(Statements(own), 2u) << own;
}

// As libraries of language models have it: scores of sequences are converted, and seen as rows behind that.
TEST(FoldedProductTest, ScoresThatAreConvertedInOtherDimensionsAreNeverWrittenEither) {
  const std::string program = WrittenText(Losses(kCrossEntropy, "", R"(
  {"op": "aten.view.default", "args": {"self": "%mm", "size": [8, 64, 640]}, "outputs": ["sequences"]},
  {"op": "aten._to_copy.default", "args": {"self": "%sequences", "dtype": "f32"}, "outputs": ["converted"]},
  {"op": "aten.view.default", "args": {"self": "%converted", "size": [512, 640]}, "outputs": ["scores"]})"));
  EXPECT_NE(program.find("matmul_reduce logsumexp(x, w_view)"), std::string::npos) << program;
  EXPECT_NE(program.find("y = nest [i < 512] (-(sum [j < 64] (x[i, j] * w[wanted[i, 0], j])"), std::string::npos)
      << program;
  EXPECT_EQ(Statements(program), 1u) << program;
}

// A number of more dimensions than the rows have is no end that `reduce` takes.
TEST(FoldedProductTest, ALogarithmThatNoStatementEndsIsTwo) {
  const std::string drawn = R"("generator": {"kind": "uniform", "low": 0, "high": 1})";
  const std::string text = WrittenText(fmt::format(R"({{"hone_problem": 1, "name": "sums", "tensors": [
  {{"name": "x", "shape": [8, 16, 40], "dtype": "f32", "role": "input", {0}}},
  {{"name": "b", "shape": [1, 1, 1], "dtype": "f32", "role": "input", {0}}},
  {{"name": "y", "shape": [8, 1, 40], "dtype": "f32", "role": "output"}}],
 "graph": [{{"op": "aten.logsumexp.default", "args": {{"self": "%x", "dim": [1], "keepdim": true}}, "outputs": ["all"]}},
  {{"op": "aten.sub.Tensor", "args": {{"self": "%all", "other": "%b"}}, "outputs": ["y"]}}]}})",
                                                   drawn));
  EXPECT_NE(text.find("= reduce max(x) over [1]"), std::string::npos) << text;
  EXPECT_NE(text.find("exp(x[i, k, j] - "), std::string::npos) << text;
  EXPECT_EQ(text.find("let "), std::string::npos) << text;
}

TEST(FoldedProductTest, ScoresThatAreWantedThemselvesAreWrittenOnce) {
  const std::string text = WrittenText(
      Losses(kCrossEntropy, R"({"name": "scores", "shape": [512, 640], "dtype": "f32", "role": "output"}, )"));
  EXPECT_EQ(text.find("matmul_reduce"), std::string::npos) << text;
  EXPECT_NE(text.find("(-(mm[i, wanted[i, 0]] - "), std::string::npos) << text;
}

}  // namespace
}  // namespace hone::expert
