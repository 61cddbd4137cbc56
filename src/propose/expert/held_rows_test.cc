// Attention whose keys and values are of 8 bits in memory, and scaled.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "propose/expert/beginnings.h"
#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

std::string Tensor(std::string_view name, std::string_view shape, std::string_view type) {
  return fmt::format(R"({{"name": "{}", "shape": {}, "dtype": "{}", "role": "input", "generator": {}}}, )", name, shape,
                     type,
                     type == "i8" ? R"({"kind": "integer", "low": -100, "high": 100})"
                                  : R"({"kind": "uniform", "low": 0, "high": 1})");
}

// 2 sequences of 4 heads, 512 keys of 64, with scales of this shape; `queries` of each head.
std::string Of(std::string_view type, std::string_view scales, int queries, std::string_view more = "",
               std::string_view outputs = "") {
  const std::string rows = fmt::format("[2, 4, {}, 64]", queries);
  std::string text = R"({"hone_problem": 1, "name": "held", "tensors": [)";
  for (const auto& tensor :
       {Tensor("q", rows, "bf16"), Tensor("k", "[2, 4, 512, 64]", type), Tensor("v", "[2, 4, 512, 64]", type),
        Tensor("ks", scales, "bf16"), Tensor("vs", scales, "bf16")})
    text += tensor;
  text += outputs;
  text += fmt::format(R"({{"name": "y", "shape": {}, "dtype": "bf16", "role": "output"}}], "graph": [)", rows);
  text += R"(
  {"op": "aten._to_copy.default", "args": {"self": "%k", "dtype": "bf16"}, "outputs": ["k_16"]},
  {"op": "aten._to_copy.default", "args": {"self": "%v", "dtype": "bf16"}, "outputs": ["v_16"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%k_16", "other": "%ks"}, "outputs": ["keys"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%v_16", "other": "%vs"}, "outputs": ["values"]},)";
  text += more;
  return text + R"(
  {"op": "aten.scaled_dot_product_attention.default", "args": {"query": "%q", "key": "%keys", "value": "%values"}, "outputs": ["y"]}]})";
}

TEST(HeldRowsTest, FewQueriesReadThemAsTheyLie) {
  for (const std::string_view scales : {"[1]", "[4, 1, 1]", "[2, 4, 512, 1]"}) {
    const std::string program = WrittenText(Of("f8e4m3", scales, 1));
    EXPECT_NE(program.find(" * ks"), std::string::npos) << program;
    EXPECT_NE(program.find(" * vs"), std::string::npos) << program;
    EXPECT_NE(program.find("= attention("), std::string::npos) << program;
    EXPECT_EQ(program.find("map"), std::string::npos) << program;
  }
  const std::string whole = WrittenText(Of("i8", "[2, 4, 512, 1]", 2));
  EXPECT_NE(whole.find("y = attention(q, real(k) * ks, real(v) * vs)"), std::string::npos) << whole;
}

TEST(HeldRowsTest, ManyQueriesReadWhatMapsMadeOfThem) {
  const std::string program = WrittenText(Of("i8", "[2, 4, 512, 1]", 64));
  EXPECT_NE(program.find("k_rows: bf16 = map("), std::string::npos) << program;
  EXPECT_NE(program.find("v_rows: bf16 = map("), std::string::npos) << program;
  EXPECT_NE(program.find("= attention("), std::string::npos) << program;
}

// So do few where each element of a row has another.
TEST(HeldRowsTest, ScalesAlongARowAreAMaps) {
  const std::string program = WrittenText(Of("f8e5m2", "[64]", 1));
  EXPECT_NE(program.find("k_rows: bf16 = map("), std::string::npos) << program;
  EXPECT_NE(program.find("= attention("), std::string::npos) << program;
}

// Keys that are an output are there anyway, and values are then of their type.
TEST(HeldRowsTest, WhatIsAnOutputIsReadThere) {
  const std::string program = WrittenText(
      Of("f8e4m3", "[1]", 1, "", R"({"name": "keys", "shape": [2, 4, 512, 64], "dtype": "bf16", "role": "output"},)"));
  EXPECT_NE(program.find("keys: [2, 4, 512, 64] = map("), std::string::npos) << program;
  EXPECT_NE(program.find("v_rows: bf16 = map("), std::string::npos) << program;
  EXPECT_NE(program.find("= attention("), std::string::npos) << program;
}

// What the graph rounds to 8 bits is not made of 16 again, where numbers of few bits stay as they lie.
TEST(HeldRowsTest, ACacheThatTheGraphMakesIsReadAsItLies) {
  const std::string text = R"({"hone_problem": 1, "name": "held", "tensors": [)" +
                           Tensor("q", "[2, 4, 1, 64]", "bf16") + Tensor("x", "[2, 4, 512, 64]", "bf16") +
                           Tensor("s", "[1]", "bf16") +
                           R"({"name": "cache", "shape": [2, 4, 512, 64], "dtype": "f8e4m3", "role": "output"},
  {"name": "y", "shape": [2, 4, 1, 64], "dtype": "bf16", "role": "output"}], "graph": [
  {"op": "aten._to_copy.default", "args": {"self": "%x", "dtype": "f8e4m3"}, "outputs": ["cache"]},
  {"op": "aten._to_copy.default", "args": {"self": "%cache", "dtype": "bf16"}, "outputs": ["wide"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%wide", "other": "%s"}, "outputs": ["keys"]},
  {"op": "aten.scaled_dot_product_attention.default", "args": {"query": "%q", "key": "%keys", "value": "%keys"}, "outputs": ["y"]}]})";
  const auto problem = ParseProblem(text, "test");
  ASSERT_TRUE(problem) << problem.error().message;
  int found = 0;
  for (const Beginning& one : BeginningsIn(*Graph::Create(*problem), TypicalDevice()))
    found += dsl::Print(one.program).find("cache_view * s, cache_view * s)") != std::string::npos ? 1 : 0;
  EXPECT_EQ(found, 1);
}

// Queries of 8 bits are made reals of 16 once.
TEST(HeldRowsTest, QueriesAreNoRowsOfTheirs) {
  std::string text = Of("f8e4m3", "[1]", 1);
  const auto replace = [&](std::string_view what, std::string_view with) {
    const std::size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    text.replace(at, what.size(), with);
  };
  replace(R"("dtype": "bf16", "role": "input")", R"("dtype": "f8e4m3", "role": "input")");
  replace(R"("graph": [)", R"("graph": [
  {"op": "aten._to_copy.default", "args": {"self": "%q", "dtype": "bf16"}, "outputs": ["q_16"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%q_16", "other": "%ks"}, "outputs": ["queries"]},)");
  replace(R"("query": "%q")", R"("query": "%queries")");
  const std::string program = WrittenText(text);
  EXPECT_NE(program.find("queries: bf16 = map("), std::string::npos) << program;
  EXPECT_NE(program.find("= attention(queries"), std::string::npos) << program;
  EXPECT_NE(program.find(" * ks, v"), std::string::npos) << program;
}

// Scales of keys on scores, and of values on their weights, over which nothing sums.
TEST(HeldRowsTest, ScalesOfValuesMayStandBehindTheSoftmax) {
  const auto text = [](std::string_view scales) {
    return R"({"hone_problem": 1, "name": "held", "tensors": [)" + Tensor("q", "[8, 2, 64]", "bf16") +
           Tensor("k", "[8, 512, 64]", "i8") + Tensor("v", "[8, 512, 64]", "i8") + Tensor("ks", "[8, 1, 512]", "bf16") +
           Tensor("vs", scales, "bf16") +
           R"({"name": "y", "shape": [8, 2, 64], "dtype": "bf16", "role": "output"}], "graph": [
  {"op": "aten._to_copy.default", "args": {"self": "%k", "dtype": "bf16"}, "outputs": ["keys"]},
  {"op": "aten._to_copy.default", "args": {"self": "%v", "dtype": "bf16"}, "outputs": ["values"]},
  {"op": "aten.permute.default", "args": {"self": "%keys", "dims": [0, 2, 1]}, "outputs": ["kt"]},
  {"op": "aten.bmm.default", "args": {"self": "%q", "mat2": "%kt"}, "outputs": ["products"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%products", "other": "%ks"}, "outputs": ["scores"]},
  {"op": "aten._softmax.default", "args": {"self": "%scores", "dim": -1, "half_to_float": false}, "outputs": ["weights"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%weights", "other": "%vs"}, "outputs": ["scaled"]},
  {"op": "aten.bmm.default", "args": {"self": "%scaled", "mat2": "%values"}, "outputs": ["y"]}]})";
  };
  const std::string program = WrittenText(text("[8, 1, 512]"));
  EXPECT_NE(program.find("= attention(q, real(k), real(v) * vs_view)"), std::string::npos) << program;
  EXPECT_NE(program.find("let score = it * ks"), std::string::npos) << program;
  // What weights of all keys are multiplied with the result is, too.
  const std::string all = WrittenText(text("[8, 2, 1]"));
  EXPECT_NE(all.find("= attention(q, real(k), real(v))"), std::string::npos) << all;
  EXPECT_NE(all.find("-> it * vs"), std::string::npos) << all;
  // Those that each query has for itself scale no value.
  const std::string own = WrittenText(text("[8, 2, 512]"));
  EXPECT_EQ(own.find("attention("), std::string::npos) << own;
}

// Heads that share keys of which copies are scaled read those keys.
TEST(HeldRowsTest, CopiesForHeadsThatShareThemAreNone) {
  const auto repeated = [](std::string_view name, int width) {
    return fmt::format(
        R"({{"op": "aten.unsqueeze.default", "args": {{"self": "%{0}", "dim": 2}}, "outputs": ["{0}_1"]}},
  {{"op": "aten.expand.default", "args": {{"self": "%{0}_1", "size": [2, 4, 2, 512, {1}]}}, "outputs": ["{0}_2"]}},
  {{"op": "aten.clone.default", "args": {{"self": "%{0}_2"}}, "outputs": ["{0}_3"]}},
  {{"op": "aten.view.default", "args": {{"self": "%{0}_3", "size": [2, 8, 512, {1}]}}, "outputs": ["{0}_8"]}},)",
        name, width);
  };
  std::string text = R"({"hone_problem": 1, "name": "held", "tensors": [)";
  for (const auto& tensor : {Tensor("q", "[2, 8, 1, 64]", "bf16"), Tensor("k", "[2, 4, 512, 64]", "f8e4m3"),
                             Tensor("v", "[2, 4, 512, 64]", "f8e4m3"), Tensor("s", "[2, 4, 512, 1]", "bf16")})
    text += tensor;
  text += R"({"name": "y", "shape": [2, 8, 1, 64], "dtype": "bf16", "role": "output"}], "graph": [)";
  for (const auto& [name, width] : {std::pair{"k", 64}, std::pair{"v", 64}, std::pair{"s", 1}})
    text += repeated(name, width);
  text += R"(
  {"op": "aten._to_copy.default", "args": {"self": "%k_8", "dtype": "bf16"}, "outputs": ["k_16"]},
  {"op": "aten._to_copy.default", "args": {"self": "%v_8", "dtype": "bf16"}, "outputs": ["v_16"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%k_16", "other": "%s_8"}, "outputs": ["keys"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%v_16", "other": "%s_8"}, "outputs": ["values"]},
  {"op": "aten.scaled_dot_product_attention.default", "args": {"query": "%q", "key": "%keys", "value": "%values"}, "outputs": ["y"]}]})";
  const std::string program = WrittenText(text);
  EXPECT_NE(program.find("= attention(q_view, k * s, v * s)"), std::string::npos) << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
  // Many queries read what is made of each key once.
  for (std::size_t at = 0; (at = text.find("[2, 8, 1, 64]", at)) != std::string::npos;)
    text.replace(at, 13, "[2, 8, 48, 64]");
  const std::string many = WrittenText(text);
  EXPECT_NE(many.find("k_rows: bf16 = map(k_view * s_view)"), std::string::npos) << many;
  EXPECT_EQ(many.find("nest"), std::string::npos) << many;
}

// 3 sequences of 4 pages of 16 keys, of two caches, with a scale of each key there, and of all.
TEST(HeldRowsTest, TheyAreReadInPagesAsTheyLie) {
  std::string text = R"({"hone_problem": 1, "name": "held", "tensors": [)";
  for (const auto& tensor :
       {Tensor("q", "[3, 4, 1, 64]", "bf16"), Tensor("k", "[40, 16, 64]", "i8"), Tensor("v", "[40, 16, 64]", "i8"),
        Tensor("ks", "[40, 16]", "bf16"), Tensor("vs", "[1]", "bf16")})
    text += tensor;
  text +=
      R"({"name": "t", "shape": [3, 4], "dtype": "i32", "role": "input", "generator": {"kind": "integer", "low": 0, "high": 40}},
  {"name": "y", "shape": [3, 4, 1, 64], "dtype": "bf16", "role": "output"}], "graph": [
  {"op": "aten.index.Tensor", "args": {"self": "%k", "indices": ["%t"]}, "outputs": ["k_found"]},
  {"op": "aten.index.Tensor", "args": {"self": "%v", "indices": ["%t"]}, "outputs": ["v_found"]},
  {"op": "aten.index.Tensor", "args": {"self": "%ks", "indices": ["%t"]}, "outputs": ["ks_found"]},
  {"op": "aten.view.default", "args": {"self": "%k_found", "size": [3, 1, 64, 64]}, "outputs": ["k_rows"]},
  {"op": "aten.view.default", "args": {"self": "%v_found", "size": [3, 1, 64, 64]}, "outputs": ["v_rows"]},
  {"op": "aten.view.default", "args": {"self": "%ks_found", "size": [3, 1, 64, 1]}, "outputs": ["scales"]},
  {"op": "aten._to_copy.default", "args": {"self": "%k_rows", "dtype": "bf16"}, "outputs": ["k_16"]},
  {"op": "aten._to_copy.default", "args": {"self": "%v_rows", "dtype": "bf16"}, "outputs": ["v_16"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%k_16", "other": "%scales"}, "outputs": ["keys"]},
  {"op": "aten.mul.Tensor", "args": {"self": "%v_16", "other": "%vs"}, "outputs": ["values"]},
  {"op": "aten.scaled_dot_product_attention.default", "args": {"query": "%q", "key": "%keys", "value": "%values", "enable_gqa": true}, "outputs": ["y"]}]})";
  const std::string program = WrittenText(text);
  EXPECT_NE(program.find("= ks: [40, 16, 1] strides [16, 1, 0]"), std::string::npos) << program;
  EXPECT_NE(program.find(", real(k) * ks_view, real(v) * vs, select(t"), std::string::npos) << program;
  EXPECT_EQ(program.find("nest"), std::string::npos) << program;
  // Pages that a processor looks up before.
  const std::string found = WrittenText(text, {}, DeviceModel{});
  EXPECT_NE(found.find(" = nest"), std::string::npos) << found;
  EXPECT_EQ(found.find("map("), std::string::npos) << found;
}

TEST(HeldRowsTest, AProcessorConvertsThemForEachBlockOfQueries) {
  const std::string program = WrittenText(Of("i8", "[2, 4, 512, 1]", 64), {}, DeviceModel{});
  EXPECT_NE(program.find("y = attention(q, real(k) * ks, real(v) * vs)"), std::string::npos) << program;
}

}  // namespace
}  // namespace hone::expert
