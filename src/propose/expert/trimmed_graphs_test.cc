// What the expert makes of graphs without the elements that nobody reads: the same outputs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "analysis/zero_terms.h"
#include "graph/trimmed.h"
#include "propose/expert/beginnings.h"
#include "propose/expert/testing/computed.h"

namespace hone::expert {
namespace {

using testing::GraphOf;

// Of inputs x and w and the output y.
void ExpectTheSame(std::string_view x, std::string_view w, std::string_view y, std::string_view nodes) {
  const Graph graph = GraphOf(fmt::format(R"({{"hone_problem": 1, "name": "t", "tensors": [
  {{"name": "x", "shape": {}, "dtype": "f32", "role": "input", "generator": {{"kind": "normal", "mean": 0, "deviation": 1}}}},
  {{"name": "w", "shape": {}, "dtype": "f32", "role": "input", "generator": {{"kind": "normal", "mean": 0, "deviation": 1}}}},
  {{"name": "y", "shape": {}, "dtype": "f32", "role": "output"}}], "graph": [{}]}})",
                                          x, w, y, nodes));
  const auto without = WithoutZeroTerms(graph);
  const auto trimmed = Trimmed(without ? *without : graph);
  ASSERT_TRUE(trimmed);
  for (const Fusion& fusion :
       {Fusion{}, Fusion{.maps = false, .epilogues = false, .norms = false, .attention = false, .products = false}}) {
    const auto whole = testing::Computed(graph, fusion, "y"), part = testing::Computed(*trimmed, fusion, "y");
    ASSERT_FALSE(whole.empty());
    ASSERT_EQ(whole.size(), part.size());
    for (std::size_t i = 0; i < whole.size(); ++i)
      ASSERT_NEAR(whole[i], part[i], 1e-5 + 1e-5 * std::abs(whole[i])) << i;
  }
}

TEST(TrimmedGraphsTest, TheLastTokensLogits) {
  ExpectTheSame("[4, 8, 16]", "[16, 24]", "[4, 24]", R"(
    {"op": "aten.view", "args": {"self": "%x", "size": [32, 16]}, "outputs": ["rows"]},
    {"op": "aten.mm", "args": {"self": "%rows", "mat2": "%w"}, "outputs": ["flat"]},
    {"op": "aten.view", "args": {"self": "%flat", "size": [4, 8, 24]}, "outputs": ["logits"]},
    {"op": "aten.select.int", "args": {"self": "%logits", "dim": 1, "index": -1}, "outputs": ["last"]},
    {"op": "aten._softmax", "args": {"self": "%last", "dim": -1, "half_to_float": false}, "outputs": ["y"]})");
}

TEST(TrimmedGraphsTest, EveryThirdRowOfThoseInTheMiddleThroughATransposition) {
  ExpectTheSame("[8, 30]", "[8, 30]", "[5, 8]", R"(
    {"op": "aten.add.Tensor", "args": {"self": "%x", "other": "%w"}, "outputs": ["s"]},
    {"op": "aten.sum.dim_IntList", "args": {"self": "%s", "dim": [0], "keepdim": true}, "outputs": ["t"]},
    {"op": "aten.mul.Tensor", "args": {"self": "%s", "other": "%t"}, "outputs": ["m"]},
    {"op": "aten.permute", "args": {"self": "%m", "dims": [1, 0]}, "outputs": ["p"]},
    {"op": "aten.slice.Tensor", "args": {"self": "%p", "dim": 0, "start": 11, "end": 26, "step": 3}, "outputs": ["y"]})");
}

TEST(TrimmedGraphsTest, AHeadOfSeveralThatLieSideBySide) {
  ExpectTheSame("[6, 16]", "[16, 32]", "[3, 8, 8]", R"(
    {"op": "aten.mm", "args": {"self": "%x", "mat2": "%w"}, "outputs": ["flat"]},
    {"op": "aten.view", "args": {"self": "%flat", "size": [3, 2, 4, 8]}, "outputs": ["heads"]},
    {"op": "aten.select.int", "args": {"self": "%heads", "dim": 2, "index": 2}, "outputs": ["one"]},
    {"op": "aten.permute", "args": {"self": "%one", "dims": [0, 2, 1]}, "outputs": ["turned"]},
    {"op": "aten.bmm", "args": {"self": "%turned", "mat2": "%one"}, "outputs": ["y"]})");
}

TEST(TrimmedGraphsTest, PlacesOfTwoPartsBehindAConvolution) {
  ExpectTheSame("[2, 3, 12, 12]", "[4, 3, 3, 3]", "[2, 4, 4, 3]", R"(
    {"op": "aten.convolution", "args": {"input": "%x", "weight": "%w", "bias": null, "stride": [1, 1], "padding": [1, 1], "dilation": [1, 1], "transposed": false, "output_padding": [0, 0], "groups": 1}, "outputs": ["c"]},
    {"op": "aten.slice.Tensor", "args": {"self": "%c", "dim": 2, "start": 0, "end": 4}, "outputs": ["top"]},
    {"op": "aten.slice.Tensor", "args": {"self": "%top", "dim": 3, "start": 0, "end": 3}, "outputs": ["left"]},
    {"op": "aten.slice.Tensor", "args": {"self": "%top", "dim": 3, "start": 4, "end": 7}, "outputs": ["right"]},
    {"op": "aten.mul.Tensor", "args": {"self": "%left", "other": "%right"}, "outputs": ["y"]})");
}

TEST(TrimmedGraphsTest, RowsThatArePaddedAndMultipliedWithATableOfWhichTheFirstColumnsAreRead) {
  ExpectTheSame("[2, 5, 3]", "[4]", "[2, 5, 4]", R"(
    {"op": "aten.arange.start_step", "args": {"start": 0, "end": 8}, "outputs": ["i"]},
    {"op": "aten._to_copy", "args": {"self": "%i", "dtype": "f32"}, "outputs": ["reals"]},
    {"op": "aten.unsqueeze", "args": {"self": "%reals", "dim": 1}, "outputs": ["rows"]},
    {"op": "aten.mul.Tensor", "args": {"self": "%rows", "other": "%reals"}, "outputs": ["products"]},
    {"op": "aten.cos", "args": {"self": "%products"}, "outputs": ["table"]},
    {"op": "aten.constant_pad_nd", "args": {"self": "%x", "pad": [1, 4], "value": 0.0}, "outputs": ["p"]},
    {"op": "aten.view", "args": {"self": "%p", "size": [10, 8]}, "outputs": ["flat"]},
    {"op": "aten.mm", "args": {"self": "%flat", "mat2": "%table"}, "outputs": ["m"]},
    {"op": "aten.view", "args": {"self": "%m", "size": [2, 5, 4, 2]}, "outputs": ["pairs"]},
    {"op": "aten.select.int", "args": {"self": "%pairs", "dim": 3, "index": 0}, "outputs": ["even"]},
    {"op": "aten.mul.Tensor", "args": {"self": "%even", "other": "%w"}, "outputs": ["y"]})");
}

TEST(TrimmedGraphsTest, IsTriedFirstAndSaysSo) {
  const Graph graph = GraphOf(R"({"hone_problem": 1, "name": "t", "tensors": [
  {"name": "x", "shape": [4096, 1024], "dtype": "f32", "role": "input", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
  {"name": "w", "shape": [1024, 1024], "dtype": "f32", "role": "parameter", "generator": {"kind": "normal", "mean": 0, "deviation": 1}},
  {"name": "y", "shape": [8, 1024], "dtype": "f32", "role": "output"}], "graph": [
  {"op": "aten.mm", "args": {"self": "%x", "mat2": "%w"}, "outputs": ["flat"]},
  {"op": "aten.view", "args": {"self": "%flat", "size": [8, 512, 1024]}, "outputs": ["tokens"]},
  {"op": "aten.select.int", "args": {"self": "%tokens", "dim": 1, "index": -1}, "outputs": ["y"]}]})");
  const auto beginnings = BeginningsIn(graph, TypicalDevice());
  ASSERT_FALSE(beginnings.empty());
  EXPECT_TRUE(std::ranges::any_of(beginnings, [](const Beginning& one) {
    return one.words.ends_with("of what is read alone") &&
           dsl::Print(one.program).find("y = matmul(x_view, w)") != std::string::npos;
  }));
}

}  // namespace
}  // namespace hone::expert
