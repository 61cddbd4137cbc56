#include "oracle/product_tiles.h"

#include <gtest/gtest.h>

#include "graph/testing/small_problem.h"

namespace hone {
namespace {

using testing::SmallGraph;

constexpr auto kGrouped =
    R"([{"op": "_grouped_mm", "args": {"self": "%a", "mat2": "%b", "offs": "%e"}, "outputs": ["y"]}])";

struct Found {
  std::vector<std::int64_t> batches, rows, columns;
  std::size_t keys = 0;
  bool left_by_fold = false, right_by_fold = false, begins = false, ends = false;
  friend bool operator==(const Found&, const Found&) = default;
};

// Of the last stage that is a sum of products.
std::optional<Found> TilesOfLast(const Graph& graph) {
  std::optional<Found> found;
  const auto extents = [](const std::vector<IndexVar>& vars) {
    std::vector<std::int64_t> all;
    for (const auto& var : vars) all.push_back(var.extent);
    return all;
  };
  for (const auto& stage : graph.stages()) {
    if (!stage.value) continue;
    Visit(WithGuardedFactors(stage.value, [](const Expr&) { return true; }), [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kReduce) return;
      const auto tiles = TilesOf(stage.vars, node, [](const Expr&) { return true; });
      if (!tiles) return;
      found = Found{extents(tiles->batches),
                    extents(tiles->rows),
                    extents(tiles->columns),
                    tiles->keys.size(),
                    tiles->left_by_fold,
                    tiles->right_by_fold,
                    static_cast<bool>(tiles->range.begin),
                    static_cast<bool>(tiles->range.end)};
    });
  }
  return found;
}

Graph Product(const std::string& inputs, const std::string& output) {
  return SmallGraph("fp32", inputs, output,
                    R"([{"op": "matmul", "args": {"self": "%a", "other": "%b"}, "outputs": ["y"]}])");
}

Graph Convolution(const std::string& inputs, const std::string& output, int groups) {
  return SmallGraph("fp32", inputs, output,
                    R"([{"op": "convolution", "args": {"input": "%x", "weight": "%w", "bias": null, "stride": [1],
      "padding": [1], "dilation": [1], "transposed": false, "output_padding": [0], "groups": )" +
                        std::to_string(groups) + R"(}, "outputs": ["y"]}])");
}

TEST(ProductTilesTest, ASideReadsItsOwnIndicesAndBothReadBatches) {
  EXPECT_EQ(TilesOfLast(Product("a f32 300x40, b f32 40x310", "y f32 300x310")), (Found{{}, {300}, {310}, 0, true}));
  EXPECT_EQ(TilesOfLast(Product("a f32 7x100x40, b f32 7x40x110", "y f32 7x100x110")),
            (Found{{7}, {100}, {110}, 0, true}));
  EXPECT_EQ(TilesOfLast(Product("a f32 7x100x40, b f32 40x110", "y f32 7x100x110")),
            (Found{{}, {7, 100}, {110}, 0, true}));
}

TEST(ProductTilesTest, PlacesOfAConvolutionAreColumnsAndChannelsRows) {
  EXPECT_EQ(TilesOfLast(Convolution("x f32 3x7x33x30, w f32 40x7x3x3", "y f32 3x40x33x30", 1)),
            (Found{{}, {40}, {3, 33, 30}, 0, true, false}));
}

TEST(ProductTilesTest, ChannelsOfAGroupHaveItsNumberInCommon) {
  EXPECT_EQ(TilesOfLast(Convolution("x f32 2x20x31x33, w f32 80x5x3x3", "y f32 2x80x31x33", 4)),
            (Found{{}, {80}, {2, 31, 33}, 1, true, false}));
  EXPECT_FALSE(TilesOfLast(Convolution("x f32 2x80x31x33, w f32 80x8x3x3", "y f32 2x80x31x33", 10)));
}

TEST(ProductTilesTest, RowsOfAGroupHaveItsNumberInCommon) {
  EXPECT_EQ(TilesOfLast(SmallGraph("torch", "a bf16 700x40, b bf16 9x40x100, e i32 9", "y bf16 700x100", kGrouped)),
            (Found{{}, {700}, {100}, 1, true, false}));
  EXPECT_EQ(TilesOfLast(SmallGraph("torch", "a bf16 9x100x40, b bf16 40x700, e i32 9", "y bf16 100x700", kGrouped)),
            (Found{{}, {700}, {100}, 1, false, true}));
}

TEST(ProductTilesTest, TermsOfAGroupAreItsOwnAlone) {
  EXPECT_EQ(TilesOfLast(SmallGraph("torch", "a bf16 120x300, b bf16 300x130, e i32 5", "y bf16 5x120x130", kGrouped)),
            (Found{{5}, {120}, {130}, 0, true, false, true, true}));
}

TEST(ProductTilesTest, WhatIsShortOrNarrowOrSmallIsNotWorthIt) {
  EXPECT_FALSE(TilesOfLast(Product("a f32 300x31, b f32 31x310", "y f32 300x310")));
  EXPECT_FALSE(TilesOfLast(Product("a f32 8x64, b f32 64x20000", "y f32 8x20000")));
  EXPECT_FALSE(TilesOfLast(Product("a f32 90x64, b f32 64x91", "y f32 90x91")));
  EXPECT_TRUE(TilesOfLast(Product("a f32 91x64, b f32 64x91", "y f32 91x91")));
}

}  // namespace
}  // namespace hone
