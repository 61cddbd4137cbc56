// Scores that are the sum of two products, or a product of rows that were put together of two parts: one attention,
// whose rows are in two parts.
#include <gtest/gtest.h>

#include <string>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

// 2 sequences, 16 heads that share keys of 128 + 64 elements; `graph` makes y.
std::string LatentOf(const std::string& graph) {
  std::string text = R"({"hone_problem": 1, "name": "latent", "tensors": [
  {"name": "q", "shape": [2, 16, 128], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "r", "shape": [2, 16, 64], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "c", "shape": [2, 96, 128], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "p", "shape": [2, 96, 64], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [2, 16, 128], "dtype": "bf16", "role": "output"}],
 "graph": [{"op": "aten.permute.default", "args": {"self": "%c", "dims": [0, 2, 1]}, "outputs": ["ct"]},
  {"op": "aten.permute.default", "args": {"self": "%p", "dims": [0, 2, 1]}, "outputs": ["pt"]},)";
  text += graph;
  return text + R"(
  {"op": "aten._softmax.default", "args": {"self": "%scores", "dim": -1, "half_to_float": false}, "outputs": ["weights"]},
  {"op": "aten.bmm.default", "args": {"self": "%weights", "mat2": "%c"}, "outputs": ["y"]}]})";
}

const std::string kProducts = R"(
  {"op": "aten.bmm.default", "args": {"self": "%q", "mat2": "%ct"}, "outputs": ["one"]},
  {"op": "aten.bmm.default", "args": {"self": "%r", "mat2": "%pt"}, "outputs": ["other"]},)";

TEST(AttentionPartsTest, TheSumOfTwoProductsIsOneOfRowsInTwoParts) {
  const std::string program = WrittenText(LatentOf(kProducts + R"(
  {"op": "aten.add.Tensor", "args": {"self": "%one", "other": "%other"}, "outputs": ["sum"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%sum", "other": 0.125}, "outputs": ["scores"]},)"));
  EXPECT_NE(program.find("let score = it * 0.125"), std::string::npos) << program;
  EXPECT_EQ(program.find("matmul("), std::string::npos) << program;
  const bool either = program.find("y = attention(q, c, c, r, p)") != std::string::npos ||
                      program.find("y = attention(r, p, c, q, c)") != std::string::npos;
  EXPECT_TRUE(either) << program;
}

TEST(AttentionPartsTest, BothMayHaveBeenScaledAlikeBefore) {
  const auto scaled = [](double other) {
    return WrittenText(LatentOf(kProducts + R"(
  {"op": "aten.mul.Tensor", "args": {"self": "%one", "other": 0.125}, "outputs": ["one_scaled"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%other", "other": )" +
                                std::to_string(other) + R"(}, "outputs": ["other_scaled"]},
  {"op": "aten.add.Tensor", "args": {"self": "%one_scaled", "other": "%other_scaled"}, "outputs": ["scores"]},)"));
  };
  EXPECT_EQ(scaled(0.125).find("matmul("), std::string::npos) << scaled(0.125);
  // Else the second is a value, which the score reads.
  EXPECT_NE(scaled(0.5).find(" = matmul("), std::string::npos) << scaled(0.5);
  EXPECT_NE(scaled(0.5).find("y = attention("), std::string::npos) << scaled(0.5);
}

const std::string kTogether = R"(
  {"op": "aten.cat.default", "args": {"tensors": ["%q", "%r"], "dim": 2}, "outputs": ["rows"]},
  {"op": "aten.cat.default", "args": {"tensors": ["%c", "%p"], "dim": 2}, "outputs": ["keys"]},
  {"op": "aten.permute.default", "args": {"self": "%keys", "dims": [0, 2, 1]}, "outputs": ["keys_t"]},
  {"op": "aten.bmm.default", "args": {"self": "%rows", "mat2": "%keys_t"}, "outputs": ["scores"]},)";

TEST(AttentionPartsTest, RowsThatWerePutTogetherMayStayInTheirParts) {
  const std::string program = WrittenText(LatentOf(kTogether), {.parts = true});
  EXPECT_NE(program.find("y = attention(q, c, c, r, p)"), std::string::npos) << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
  const std::string whole = WrittenText(LatentOf(kTogether));
  EXPECT_NE(whole.find(" = attention("), std::string::npos) << whole;
  EXPECT_NE(whole.find(" = nest "), std::string::npos) << whole;
}

// 3 sequences of 4 pages of 32 rows, looked up in one cache of both parts, or in two.
std::string PagedLatent(const std::string& caches, const std::string& rows) {
  return R"({"hone_problem": 1, "name": "paged_latent", "tensors": [
  {"name": "q", "shape": [3, 16, 128], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "r", "shape": [3, 16, 64], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  )" + caches +
         R"(
  {"name": "table", "shape": [3, 4], "dtype": "i32", "role": "input", "generator": {"kind": "integer", "low": 0, "high": 40}},
  {"name": "y", "shape": [3, 16, 128], "dtype": "bf16", "role": "output"}],
 "graph": [)" +
         rows + R"(
  {"op": "aten.permute.default", "args": {"self": "%c", "dims": [0, 2, 1]}, "outputs": ["ct"]},
  {"op": "aten.permute.default", "args": {"self": "%p", "dims": [0, 2, 1]}, "outputs": ["pt"]},)" +
         kProducts + R"(
  {"op": "aten.add.Tensor", "args": {"self": "%one", "other": "%other"}, "outputs": ["scores"]},
  {"op": "aten._softmax.default", "args": {"self": "%scores", "dim": -1, "half_to_float": false}, "outputs": ["weights"]},
  {"op": "aten.bmm.default", "args": {"self": "%weights", "mat2": "%c"}, "outputs": ["y"]}]})";
}

TEST(AttentionPartsTest, BothPartsAreReadInThePagesOfOneCache) {
  const std::string program = WrittenText(PagedLatent(
      R"({"name": "cache", "shape": [40, 32, 192], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},)",
      R"({"op": "aten.index.Tensor", "args": {"self": "%cache", "indices": ["%table"]}, "outputs": ["found"]},
  {"op": "aten.view.default", "args": {"self": "%found", "size": [3, 128, 192]}, "outputs": ["rows"]},
  {"op": "aten.slice.Tensor", "args": {"self": "%rows", "dim": 2, "start": 0, "end": 128}, "outputs": ["c"]},
  {"op": "aten.slice.Tensor", "args": {"self": "%rows", "dim": 2, "start": 128, "end": 192}, "outputs": ["p"]},)"));
  EXPECT_NE(program.find("view cache_view = cache: [40, 32, 128] strides [6144, 192, 1]"), std::string::npos)
      << program;
  EXPECT_NE(program.find("view cache_view_2 = cache: [40, 32, 64] strides [6144, 192, 1] offset 128"),
            std::string::npos)
      << program;
  EXPECT_NE(program.find("y = attention(q, cache_view, cache_view, select(table < 0, table + 40, table), r, "
                         "cache_view_2)"),
            std::string::npos)
      << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
}

TEST(AttentionPartsTest, PartsInTwoCachesAreReadByOneTable) {
  const auto program = [](const std::string& second) {
    return WrittenText(PagedLatent(
        R"({"name": "latent", "shape": [40, 32, 128], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "turned", "shape": [40, 32, 64], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "another", "shape": [3, 4], "dtype": "i32", "role": "input", "generator": {"kind": "integer", "low": 0, "high": 40}},)",
        R"({"op": "aten.index.Tensor", "args": {"self": "%latent", "indices": ["%table"]}, "outputs": ["one_found"]},
  {"op": "aten.index.Tensor", "args": {"self": "%turned", "indices": [")" +
            second + R"("]}, "outputs": ["other_found"]},
  {"op": "aten.view.default", "args": {"self": "%one_found", "size": [3, 128, 128]}, "outputs": ["c"]},
  {"op": "aten.view.default", "args": {"self": "%other_found", "size": [3, 128, 64]}, "outputs": ["p"]},)"));
  };
  const std::string one = program("%table"), two = program("%another");
  EXPECT_NE(one.find("y = attention(q, latent, latent, select(table < 0, table + 40, table), r, turned)"),
            std::string::npos)
      << one;
  EXPECT_EQ(one.find("nest"), std::string::npos) << one;
  // Of two tables one is no attention's: what they say is looked up before.
  EXPECT_NE(two.find("= nest ["), std::string::npos) << two;
}

}  // namespace
}  // namespace hone::expert
