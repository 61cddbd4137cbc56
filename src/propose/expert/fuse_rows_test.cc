// Products of sequences that are turned to have their places first, as modules have them that take batches last.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "propose/expert/testing/computed.h"
#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::Computed;
using testing::WrittenText;

std::string Input(const std::string& name, const std::string& shape) {
  return fmt::format(
      R"({{"name": "{}", "shape": {}, "dtype": "f32", "role": "input", "generator": {{"kind": "uniform", "low": -1, "high": 1}}}},)",
      name, shape);
}

std::string Graph(int places, const std::string& tensors, const std::string& shape, const std::string& calls) {
  return R"({"hone_problem": 1, "name": "n", "tensors": [)" + Input("x", fmt::format("[4, {}, 32]", places)) + tensors +
         R"({"name": "y", "shape": )" + shape + R"(, "dtype": "f32", "role": "output"}], "graph": [)" + calls + "]}";
}

// [4, places, 32] with its places first, times w, and with its batches first again.
std::string Turned(int places, const std::string& turned) {
  return Graph(places, Input("w", "[32, 24]"), fmt::format("[4, {}, 24]", places),
               fmt::format(R"({{"op": "relu", "args": {{"self": "%x"}}, "outputs": ["r"]}},
    {{"op": "permute", "args": {{"self": "{1}", "dims": [1, 0, 2]}}, "outputs": ["t"]}},
    {{"op": "clone", "args": {{"self": "%t"}}, "outputs": ["c"]}},
    {{"op": "view", "args": {{"self": "%c", "size": [{2}, 32]}}, "outputs": ["rows"]}},
    {{"op": "mm", "args": {{"self": "%rows", "mat2": "%w"}}, "outputs": ["m"]}},
    {{"op": "view", "args": {{"self": "%m", "size": [{0}, 4, 24]}}, "outputs": ["apart"]}},
    {{"op": "permute", "args": {{"self": "%apart", "dims": [1, 0, 2]}}, "outputs": ["y"]}})",
                           places, turned, 4 * places));
}

// Scores of two parts of what [4, places, 32] with its places first makes.
std::string Scores(int places) {
  return Graph(places, Input("w", "[32, 32]"), fmt::format("[4, {0}, {0}]", places),
               R"({"op": "permute", "args": {"self": "%x", "dims": [1, 0, 2]}, "outputs": ["t"]},
    {"op": "matmul", "args": {"self": "%t", "other": "%w"}, "outputs": ["m"]},
    {"op": "slice", "args": {"self": "%m", "dim": 2, "start": 0, "end": 16}, "outputs": ["q"]},
    {"op": "slice", "args": {"self": "%m", "dim": 2, "start": 16, "end": 32}, "outputs": ["k"]},
    {"op": "permute", "args": {"self": "%q", "dims": [1, 0, 2]}, "outputs": ["rows"]},
    {"op": "mul", "args": {"self": "%rows", "other": 0.25}, "outputs": ["scaled"]},
    {"op": "permute", "args": {"self": "%k", "dims": [1, 2, 0]}, "outputs": ["columns"]},
    {"op": "bmm", "args": {"self": "%scaled", "mat2": "%columns"}, "outputs": ["y"]})");
}

void ExpectTheSame(const std::string& graph) {
  const auto got = Computed(graph, {}, "y"), want = Computed(graph, {.maps = false, .products = false}, "y");
  ASSERT_FALSE(want.empty());
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-5) << i;
}

std::size_t CountOf(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

TEST(RowsTest, WhatIsTurnedBeforeAndAfterAProductIsNotTurned) {
  for (const int places : {20, 128}) {
    const std::string graph = Turned(places, "%x"), program = WrittenText(graph);
    EXPECT_EQ(CountOf(program, " = map("), 0U) << program;
    EXPECT_EQ(CountOf(program, "= matmul("), 1U) << program;
    ExpectTheSame(graph);
  }
}

TEST(RowsTest, AMapMakesRowsAsTheirProductsOutputHasThem) {
  const std::string graph = Turned(20, "%r"), program = WrittenText(graph);
  EXPECT_NE(program.find("r = map(relu(x"), std::string::npos) << program;
  EXPECT_NE(program.find("y: [4, 20, 24] = matmul(r"), std::string::npos) << program;
  ExpectTheSame(graph);
}

TEST(RowsTest, WhatIsAddedToATurnedProductIsAddedByIt) {
  const std::string graph = Graph(20, Input("w", "[32, 32]"), "[4, 20, 32]",
                                  R"({"op": "permute", "args": {"self": "%x", "dims": [1, 0, 2]}, "outputs": ["t"]},
    {"op": "clone", "args": {"self": "%t"}, "outputs": ["c"]},
    {"op": "view", "args": {"self": "%c", "size": [80, 32]}, "outputs": ["rows"]},
    {"op": "mm", "args": {"self": "%rows", "mat2": "%w"}, "outputs": ["m"]},
    {"op": "view", "args": {"self": "%m", "size": [20, 4, 32]}, "outputs": ["apart"]},
    {"op": "permute", "args": {"self": "%apart", "dims": [1, 0, 2]}, "outputs": ["back"]},
    {"op": "add.Tensor", "args": {"self": "%x", "other": "%back"}, "outputs": ["y"]})");
  const std::string program = WrittenText(graph);
  EXPECT_NE(program.find("= matmul(x_view, w) -> x_view + it"), std::string::npos) << program;
  EXPECT_EQ(CountOf(program, " = map("), 0U) << program;
  ExpectTheSame(graph);
}

TEST(RowsTest, AProductIsMadeInTheOrderOfItsRowsAndReadInAnother) {
  const std::string graph = Scores(20), program = WrittenText(graph);
  EXPECT_NE(program.find("view x_view = x: [80, 32] strides [32, 1]"), std::string::npos) << program;
  // A number that scaled rows before is behind them, and nothing is copied for it.
  EXPECT_NE(program.find("-> it * 0.25"), std::string::npos) << program;
  EXPECT_EQ(CountOf(program, " = map("), 0U) << program;
  ExpectTheSame(graph);
  EXPECT_NE(WrittenText(Scores(128)).find("view x_view = x: [512, 32] strides [32, 1]"), std::string::npos);
  // So many rows would rather be turned than be in tiles of four.
  const std::string many = WrittenText(Scores(300));
  EXPECT_NE(many.find("view x_view = x: [1200, 32] strides [32, 1]"), std::string::npos) << many;
  EXPECT_EQ(CountOf(many, " = map("), 0U) << many;
}

}  // namespace
}  // namespace hone::expert
