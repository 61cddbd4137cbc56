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
  EXPECT_EQ(Statements(WrittenText(Scores(), {}, DeviceModel{})), 1u);  // a processor's does
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

// What is the same all along a row is none that `reduce` takes.
TEST(FoldedProductTest, ALogarithmThatNoStatementEndsIsTwo) {
  const std::string drawn = R"("generator": {"kind": "uniform", "low": 0, "high": 1})";
  const std::string text = WrittenText(fmt::format(R"({{"hone_problem": 1, "name": "sums", "tensors": [
  {{"name": "x", "shape": [8, 1, 40], "dtype": "f32", "role": "input", {0}}},
  {{"name": "b", "shape": [40], "dtype": "f32", "role": "input", {0}}},
  {{"name": "y", "shape": [8, 1, 40], "dtype": "f32", "role": "output"}}],
 "graph": [{{"op": "aten.expand.default", "args": {{"self": "%x", "size": [8, 16, 40]}}, "outputs": ["wide"]}},
  {{"op": "aten.logsumexp.default", "args": {{"self": "%wide", "dim": [1], "keepdim": true}}, "outputs": ["all"]}},
  {{"op": "aten.sub.Tensor", "args": {{"self": "%all", "other": "%b"}}, "outputs": ["y"]}}]}})",
                                                   drawn));
  EXPECT_NE(text.find("(max [k < 16] (x["), std::string::npos) << text;
  EXPECT_NE(text.find("(sum [k < 16] (exp(x["), std::string::npos) << text;
  EXPECT_EQ(text.find("let "), std::string::npos) << text;
}

// The scores of `rows` of x with 4096 codes, and what is made of them.
std::string Codes(const std::string& type, const std::string& nodes, const std::string& outputs,
                  std::int64_t rows = 2048) {
  const std::string drawn = R"("generator": {"kind": "uniform", "low": 0, "high": 1})";
  return fmt::format(R"({{"hone_problem": 1, "name": "codes", "tensors": [
  {{"name": "x", "shape": [{0}, 64], "dtype": "{1}", "role": "input", {2}}},
  {{"name": "w", "shape": [4096, 64], "dtype": "{1}", "role": "parameter", {2}}},
  {{"name": "of_rows", "shape": [{0}, 1], "dtype": "{1}", "role": "input", {2}}},
  {{"name": "of_codes", "shape": [4096], "dtype": "{1}", "role": "input", {2}}},
  {3}],
 "graph": [{{"op": "aten.permute.default", "args": {{"self": "%w", "dims": [1, 0]}}, "outputs": ["wt"]}},
  {4}]}})",
                     rows, type, drawn, outputs, nodes);
}
std::string Output(const std::string& name, const std::string& type, std::int64_t rows = 2048) {
  return fmt::format(R"({{"name": "{}", "shape": [{}], "dtype": "{}", "role": "output"}})", name, rows, type);
}
const std::string kProduct = R"({"op": "aten.mm.default", "args": {"self": "%x", "mat2": "%wt"}, "outputs": ["mm"]},)";
const std::string kDistances = R"(
  {"op": "aten.mul.Tensor", "args": {"self": "%x", "other": 2}, "outputs": ["twice"]},
  {"op": "aten.mm.default", "args": {"self": "%twice", "mat2": "%wt"}, "outputs": ["mm"]},
  {"op": "aten.sub.Tensor", "args": {"self": "%of_rows", "other": "%mm"}, "outputs": ["nearly"]},
  {"op": "aten.add.Tensor", "args": {"self": "%nearly", "other": "%of_codes"}, "outputs": ["distances"]},
  {"op": "aten.argmin.default", "args": {"self": "%distances", "dim": 1}, "outputs": ["y"]})";

TEST(FoldedProductTest, TheNearestCodeIsOneStatement) {
  for (const auto type : {"f32", "bf16", "f16"}) {
    const std::string text = WrittenText(Codes(type, kDistances, Output("y", "i64")));
    EXPECT_NE(text.find("y = matmul_reduce argmin(x, w_view)"), std::string::npos) << text;
    EXPECT_NE(text.find("let score = of_rows - it * 2 + of_codes"), std::string::npos) << text;
    EXPECT_EQ(Statements(text), 1u) << text;
  }
}

TEST(FoldedProductTest, RowsOfSeveralDimensionsAreNoBatches) {
  const std::string text = WrittenText(Codes("bf16", kProduct + R"(
  {"op": "aten.view.default", "args": {"self": "%mm", "size": [512, 4, 4096]}, "outputs": ["scores"]},
  {"op": "aten.argmax.default", "args": {"self": "%scores", "dim": 2}, "outputs": ["y"]})",
                                             R"({"name": "y", "shape": [512, 4], "dtype": "i64", "role": "output"})"));
  EXPECT_NE(text.find("y: [512, 4] = matmul_reduce argmax(x, w_view)"), std::string::npos) << text;
}

TEST(FoldedProductTest, EitherOperandsRowsMayBeFolded) {
  const std::string largest = R"({"op": "aten.argmax.default", "args": {"self": "%mm", "dim": 0}, "outputs": ["y"]})";
  const std::string text = WrittenText(Codes("bf16", kProduct + largest, Output("y", "i64", 4096)));
  EXPECT_NE(text.find("y = matmul_reduce argmax(w, x_view)"), std::string::npos) << text;
}

TEST(FoldedProductTest, FewScoresOfF32AreWritten) {
  const std::string largest = R"({"op": "aten.argmax.default", "args": {"self": "%mm", "dim": 1}, "outputs": ["y"]})";
  EXPECT_EQ(Statements(WrittenText(Codes("f32", kProduct + largest, Output("y", "i64")))), 1u);
  EXPECT_EQ(Statements(WrittenText(Codes("f32", kProduct + largest, Output("y", "i64", 512), 512))), 2u);
  EXPECT_EQ(Statements(WrittenText(Codes("f16", kProduct + largest, Output("y", "i64", 512), 512))), 1u);
}

TEST(FoldedProductTest, AnExtremeAndItsPlaceAreOneStatement) {
  const std::string outputs = Output("v", "bf16") + ", " + Output("y", "i64");
  for (const auto word : {"max", "min"}) {
    const std::string both =
        fmt::format(R"({{"op": "aten.{}.dim", "args": {{"self": "%mm", "dim": 1}}, "outputs": ["v", "y"]}})", word);
    const std::string text = WrittenText(Codes("bf16", kProduct + both, outputs));
    EXPECT_NE(text.find(fmt::format("y = matmul_reduce arg{}(x, w_view)", word)), std::string::npos) << text;
    EXPECT_NE(text.find("also v = it"), std::string::npos) << text;
    EXPECT_EQ(Statements(text), 1u) << text;
    EXPECT_EQ(Statements(WrittenText(Codes("bf16", kProduct + both, outputs), {}, DeviceModel{})), 1u);
  }
}

TEST(FoldedProductTest, WhereAProcessorMultipliesPairsTheProductIsWritten) {
  DeviceModel device;
  device.bf16_pairs = true;
  const std::string largest = R"({"op": "aten.argmax.default", "args": {"self": "%mm", "dim": 1}, "outputs": ["y"]})";
  EXPECT_EQ(Statements(WrittenText(Codes("bf16", kProduct + largest, Output("y", "i64")), {}, device)), 2u);
  EXPECT_EQ(Statements(WrittenText(Codes("f16", kProduct + largest, Output("y", "i64")), {}, device)), 1u);
}

TEST(FoldedProductTest, AnExtremeOfOtherElementsIsNoneOfThePlace) {
  const std::string outputs = Output("v", "bf16") + ", " + Output("y", "i64");
  for (const std::string other :
       {R"("aten.amin.default", "args": {"self": "%mm")", R"("aten.amax.default", "args": {"self": "%negated")"}) {
    const std::string text = WrittenText(Codes("bf16", kProduct + R"(
  {"op": "aten.neg.default", "args": {"self": "%mm"}, "outputs": ["negated"]},
  {"op": "aten.argmax.default", "args": {"self": "%mm", "dim": 1}, "outputs": ["y"]},
  {"op": )" + other + R"(, "dim": [1]}, "outputs": ["v"]})",
                                               outputs));
    EXPECT_EQ(Statements(text), 3u) << text;
    EXPECT_EQ(text.find("also"), std::string::npos) << text;
  }
}

TEST(FoldedProductTest, ScoresThatAreWantedThemselvesAreWrittenOnce) {
  const std::string text = WrittenText(
      Losses(kCrossEntropy, R"({"name": "scores", "shape": [512, 640], "dtype": "f32", "role": "output"}, )"));
  EXPECT_EQ(text.find("matmul_reduce"), std::string::npos) << text;
  EXPECT_NE(text.find("(-(mm[i, wanted[i, 0]] - "), std::string::npos) << text;
}

}  // namespace
}  // namespace hone::expert
