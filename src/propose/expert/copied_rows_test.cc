// Attention whose heads are channels of an image, so that their rows lie across memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

TEST(CopiedRowsTest, QueriesKeysAndValuesOfOneProductAreOneCopy) {
  const std::string program = WrittenText(R"({"hone_problem": 1, "name": "attention", "tensors": [
  {"name": "qkv", "shape": [2, 12, 96, 196], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [2, 12, 196, 32], "dtype": "bf16", "role": "output"}], "graph": [
  {"op": "aten.slice.Tensor", "args": {"self": "%qkv", "dim": 2, "start": 0, "end": 32, "step": 1}, "outputs": ["a"]},
  {"op": "aten.slice.Tensor", "args": {"self": "%qkv", "dim": 2, "start": 32, "end": 64, "step": 1}, "outputs": ["b"]},
  {"op": "aten.slice.Tensor", "args": {"self": "%qkv", "dim": 2, "start": 64, "end": 96, "step": 1}, "outputs": ["c"]},
  {"op": "aten.permute.default", "args": {"self": "%a", "dims": [0, 1, 3, 2]}, "outputs": ["q"]},
  {"op": "aten.permute.default", "args": {"self": "%b", "dims": [0, 1, 3, 2]}, "outputs": ["k"]},
  {"op": "aten.permute.default", "args": {"self": "%c", "dims": [0, 1, 3, 2]}, "outputs": ["v"]},
  {"op": "aten.scaled_dot_product_attention.default", "args": {"query": "%q", "key": "%k", "value": "%v"}, "outputs": ["y"]}]})");
  EXPECT_NE(program.find("qkv: [3, 2, 12, 196, 32] strides [6272, 225792, 18816, 1, 196]"), std::string::npos)
      << program;
  EXPECT_NE(program.find("qkv_rows: bf16 = map("), std::string::npos) << program;
  EXPECT_NE(program.find("y = attention(qkv_rows_view, qkv_rows_view_2, qkv_rows_view_3)"), std::string::npos)
      << program;
}

// Of keys that all heads share there is one, as there was.
TEST(CopiedRowsTest, SharedKeysAreCopiedOnce) {
  const std::string program = WrittenText(R"({"hone_problem": 1, "name": "attention", "tensors": [
  {"name": "a", "shape": [2, 4, 64, 196], "dtype": "f16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "b", "shape": [2, 1, 64, 49], "dtype": "f16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "v", "shape": [2, 4, 49, 64], "dtype": "f16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [2, 4, 196, 64], "dtype": "f16", "role": "output"}], "graph": [
  {"op": "aten.permute.default", "args": {"self": "%a", "dims": [0, 1, 3, 2]}, "outputs": ["q"]},
  {"op": "aten.permute.default", "args": {"self": "%b", "dims": [0, 1, 3, 2]}, "outputs": ["one"]},
  {"op": "aten.expand.default", "args": {"self": "%one", "size": [2, 4, 49, 64]}, "outputs": ["k"]},
  {"op": "aten.scaled_dot_product_attention.default", "args": {"query": "%q", "key": "%k", "value": "%v"}, "outputs": ["y"]}]})");
  EXPECT_NE(program.find("b_rows: f16 = map("), std::string::npos) << program;
  EXPECT_NE(program.find("b_rows: [2, 1, 49, 64]"), std::string::npos) << program;
  EXPECT_NE(program.find("y = attention(a_rows_view, b_rows_view, v)"), std::string::npos) << program;
}

// The tensor cores multiply 16 bits by 16.
TEST(CopiedRowsTest, KeysAndValuesOfEightBitsAreCopiedAsWhatQueriesAre) {
  const std::string program = WrittenText(R"({"hone_problem": 1, "name": "attention", "tensors": [
  {"name": "q", "shape": [2, 4, 196, 64], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "k", "shape": [2, 4, 384, 64], "dtype": "f8e4m3", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "v", "shape": [2, 4, 384, 64], "dtype": "f8e5m2", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [2, 4, 196, 64], "dtype": "bf16", "role": "output"}], "graph": [
  {"op": "aten._to_copy.default", "args": {"self": "%k", "dtype": "bf16"}, "outputs": ["keys"]},
  {"op": "aten._to_copy.default", "args": {"self": "%v", "dtype": "bf16"}, "outputs": ["values"]},
  {"op": "aten.scaled_dot_product_attention.default", "args": {"query": "%q", "key": "%keys", "value": "%values"}, "outputs": ["y"]}]})");
  EXPECT_NE(program.find("k_rows: bf16 = map("), std::string::npos) << program;
  EXPECT_NE(program.find("v_rows: bf16 = map("), std::string::npos) << program;
  EXPECT_NE(program.find("= attention("), std::string::npos) << program;
  EXPECT_EQ(program.find("matmul"), std::string::npos) << program;
}

// So do queries that were made f32 of keys that are bf16, and keys of halves and values of bf16.
TEST(CopiedRowsTest, OfTwoTypesTheWiderIsWhatAllAreCopiedAs) {
  const auto program = [](std::string_view k, std::string_view v) {
    return WrittenText(fmt::format(R"({{"hone_problem": 1, "name": "attention", "tensors": [
  {{"name": "q", "shape": [2, 4, 196, 64], "dtype": "f32", "role": "input", "generator": {{"kind": "uniform", "low": 0, "high": 1}}}},
  {{"name": "k", "shape": [2, 4, 384, 64], "dtype": "{}", "role": "input", "generator": {{"kind": "uniform", "low": 0, "high": 1}}}},
  {{"name": "v", "shape": [2, 4, 384, 64], "dtype": "{}", "role": "input", "generator": {{"kind": "uniform", "low": 0, "high": 1}}}},
  {{"name": "y", "shape": [2, 4, 196, 64], "dtype": "f32", "role": "output"}}], "graph": [
  {{"op": "aten._to_copy.default", "args": {{"self": "%k", "dtype": "f32"}}, "outputs": ["keys"]}},
  {{"op": "aten._to_copy.default", "args": {{"self": "%v", "dtype": "f32"}}, "outputs": ["values"]}},
  {{"op": "aten.scaled_dot_product_attention.default", "args": {{"query": "%q", "key": "%keys", "value": "%values"}}, "outputs": ["y"]}}]}})",
                                   k, v));
  };
  for (const auto& [k, v] : {std::pair{"bf16", "bf16"}, std::pair{"f16", "bf16"}, std::pair{"f8e4m3", "f16"}}) {
    const std::string text = program(k, v);
    EXPECT_NE(text.find("k_rows: f32 = map("), std::string::npos) << text;
    EXPECT_NE(text.find("v_rows: f32 = map("), std::string::npos) << text;
    EXPECT_NE(text.find("= attention(q"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace hone::expert
