// Which products and folds become one statement.
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
}

TEST(FoldedProductTest, AMaskGoesAlong) {
  const std::string program = WrittenText(Scores("amax", 1, "f16", kMasked));
  EXPECT_NE(program.find("let score = select(hidden_view, -inf, it)"), std::string::npos) << program;
  EXPECT_EQ(Statements(program), 1u) << program;
}

TEST(FoldedProductTest, WhatNoKernelFoldsIsTwoStatements) {
  EXPECT_EQ(Statements(WrittenText(Scores(), {.products = false})), 2u);
  EXPECT_EQ(Statements(WrittenText(Scores("amax", 1, "f32"))), 2u);
  EXPECT_EQ(Statements(WrittenText(Scores("amax", 2))), 2u);  // 100 rows that stay would be others in each batch
  EXPECT_EQ(Statements(WrittenText(Scores(), {}, DeviceModel{})), 2u);
}

}  // namespace
}  // namespace hone::expert
