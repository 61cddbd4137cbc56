#include "graph/trimmed.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "graph/reshape.h"
#include "graph/testing/small_problem.h"

namespace hone {
namespace {

using testing::SmallGraph;

// By name, the shapes of what is made; "" where nothing can go.
std::string ShapesOf(const std::string& inputs, const std::string& outputs, const std::string& nodes) {
  const auto trimmed = Trimmed(SmallGraph("fp32", inputs, outputs, nodes));
  if (!trimmed) return "";
  std::string shapes;
  const auto live = LiveStages(*trimmed);
  for (std::size_t s = 0; s < live.size(); ++s) {
    if (!live[s]) continue;
    const Buffer& made = trimmed->buffers()[static_cast<std::size_t>(trimmed->stages()[s].buffer)];
    EXPECT_EQ(trimmed->stages()[s].vars.size(), made.shape.size());
    shapes += (shapes.empty() ? "" : ", ") + made.name + ToString(made.shape);
  }
  return shapes;
}

TEST(TrimmedTest, OfAProductOfTokensThoseOfTheLastOneAreLeft) {
  EXPECT_EQ(ShapesOf("h f32 4x8x16, w f32 16x100", "y f32 4x100", R"([
      {"op": "aten.view", "args": {"self": "%h", "size": [32, 16]}, "outputs": ["rows"]},
      {"op": "aten.mm", "args": {"self": "%rows", "mat2": "%w"}, "outputs": ["flat"]},
      {"op": "aten.view", "args": {"self": "%flat", "size": [4, 8, 100]}, "outputs": ["logits"]},
      {"op": "aten.select.int", "args": {"self": "%logits", "dim": 1, "index": -1}, "outputs": ["y"]}])"),
            "rows[32, 16], flat[4, 1, 100], y[4, 100]");
}

TEST(TrimmedTest, WhatIsReadGoesOnThroughAllThatMakesIt) {
  // Rows of a norm of an activation of a product.
  EXPECT_EQ(ShapesOf("x f32 4x8x16, w f32 16x16", "y f32 4x16", R"([
      {"op": "aten.view", "args": {"self": "%x", "size": [32, 16]}, "outputs": ["rows"]},
      {"op": "aten.mm", "args": {"self": "%rows", "mat2": "%w"}, "outputs": ["flat"]},
      {"op": "aten.view", "args": {"self": "%flat", "size": [4, 8, 16]}, "outputs": ["m"]},
      {"op": "aten.exp", "args": {"self": "%m"}, "outputs": ["e"]},
      {"op": "aten.sum.dim_IntList", "args": {"self": "%e", "dim": [2], "keepdim": true}, "outputs": ["s"]},
      {"op": "aten.div.Tensor", "args": {"self": "%e", "other": "%s"}, "outputs": ["d"]},
      {"op": "aten.select.int", "args": {"self": "%d", "dim": 1, "index": 0}, "outputs": ["y"]}])"),
            "rows[32, 16], flat[4, 1, 16], e[4, 1, 16], s[4, 1], d[4, 1, 16], y[4, 16]");
}

TEST(TrimmedTest, EverySoManyAndPartsBetweenAreKept) {
  EXPECT_EQ(ShapesOf("x f32 64x64", "y f32 16x20", R"([
      {"op": "aten.exp", "args": {"self": "%x"}, "outputs": ["e"]},
      {"op": "aten.slice.Tensor", "args": {"self": "%e", "dim": 0, "start": 1, "end": 64, "step": 4}, "outputs": ["s"]},
      {"op": "aten.slice.Tensor", "args": {"self": "%s", "dim": 1, "start": 10, "end": 30}, "outputs": ["y"]}])"),
            "e[16, 20], s[16, 20], y[16, 20]");
}

TEST(TrimmedTest, WhatSeveralReadIsKeptForAllOfThem) {
  EXPECT_EQ(ShapesOf("x f32 8x64", "y f32 8x16, z f32 8x8", R"([
      {"op": "aten.exp", "args": {"self": "%x"}, "outputs": ["e"]},
      {"op": "aten.slice.Tensor", "args": {"self": "%e", "dim": 1, "start": 0, "end": 16}, "outputs": ["y"]},
      {"op": "aten.slice.Tensor", "args": {"self": "%e", "dim": 1, "start": 24, "end": 32}, "outputs": ["z"]}])"),
            "e[8, 32], y[8, 16], z[8, 8]");
}

TEST(TrimmedTest, WhatIsAllReadOrNearlyOrByPlacesOutOfDataStays) {
  EXPECT_EQ(ShapesOf("x f32 8x64", "y f32 8x60", R"([
      {"op": "aten.exp", "args": {"self": "%x"}, "outputs": ["e"]},
      {"op": "aten.slice.Tensor", "args": {"self": "%e", "dim": 1, "start": 0, "end": 60}, "outputs": ["y"]}])"),
            "");
  EXPECT_EQ(ShapesOf("x f32 8x64, at i64 2", "y f32 2x64", R"([
      {"op": "aten.exp", "args": {"self": "%x"}, "outputs": ["e"]},
      {"op": "aten.index_select", "args": {"self": "%e", "dim": 0, "index": "%at"}, "outputs": ["y"]}])"),
            "");
  // An output is an output, whoever reads it.
  EXPECT_EQ(ShapesOf("x f32 8x64", "e f32 8x64, y f32 8x4", R"([
      {"op": "aten.exp", "args": {"self": "%x"}, "outputs": ["e"]},
      {"op": "aten.slice.Tensor", "args": {"self": "%e", "dim": 1, "start": 0, "end": 4}, "outputs": ["y"]}])"),
            "");
}

TEST(TrimmedTest, APaddedPlaceIsNoneThatIsRead) {
  // Of 8 columns behind 2 that are padded the first four are read, if anything is.
  EXPECT_EQ(ShapesOf("x f32 8x64", "y f32 8x6", R"([
      {"op": "aten.exp", "args": {"self": "%x"}, "outputs": ["e"]},
      {"op": "aten.constant_pad_nd", "args": {"self": "%e", "pad": [2, 2], "value": 0.0}, "outputs": ["p"]},
      {"op": "aten.slice.Tensor", "args": {"self": "%p", "dim": 1, "start": 0, "end": 6}, "outputs": ["y"]}])"),
            "e[8, 4], p[8, 6], y[8, 6]");
}

TEST(TrimmedTest, OfWhatHasNoElementsNothingIsLookedFor) {
  EXPECT_EQ(ShapesOf("x f32 0x6", "y f32 0x3x2", R"([
      {"op": "aten.exp", "args": {"self": "%x"}, "outputs": ["e"]},
      {"op": "aten.view", "args": {"self": "%e", "size": [0, 3, 2]}, "outputs": ["v"]},
      {"op": "aten.exp", "args": {"self": "%v"}, "outputs": ["y"]}])"),
            "");
  EXPECT_EQ(InShape({0, 0}, {0, 6}, {0, 3, 2}).size(), 3u);
}

TEST(TrimmedTest, ScansAreLeftAsTheyAre) {
  EXPECT_EQ(ShapesOf("x f32 8x64", "y f32 8", R"([
      {"op": "aten.cumsum", "args": {"self": "%x", "dim": 1}, "outputs": ["c"]},
      {"op": "aten.select.int", "args": {"self": "%c", "dim": 1, "index": 3}, "outputs": ["y"]}])"),
            "");
}

}  // namespace
}  // namespace hone
