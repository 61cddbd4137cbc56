#include "analysis/cost.h"

#include <gtest/gtest.h>

#include "graph/testing/small_problem.h"

namespace hone {
namespace {

using testing::SmallGraph;

TEST(CostTest, AMatrixProductIsItsMultiplyAddsAndThreeMatrices) {
  const Graph graph = SmallGraph("fp32", "a f32 8x16, b f32 16x4", "y f32 8x4",
                                 R"([{"op": "mm", "args": {"self": "%a", "mat2": "%b"}, "outputs": ["y"]}])");
  const Cost cost = GraphCost(graph);
  EXPECT_EQ(cost.multiply_adds, 8 * 16 * 4);
  EXPECT_EQ(cost.flops(), 2 * 8 * 16 * 4);
  EXPECT_EQ(cost.bytes_read, 4 * (8 * 16 + 16 * 4));
  EXPECT_EQ(cost.bytes_written, 4 * 8 * 4);
}

TEST(CostTest, WhatLiesBetweenTwoNodesIsNotCompulsory) {
  const Graph graph = SmallGraph("fp32", "x f32 100", "y f32 100",
                                 R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["t"]},
                                     {"op": "relu", "args": {"self": "%t"}, "outputs": ["y"]}])");
  EXPECT_EQ(GraphCost(graph).bytes(), 800);
  EXPECT_EQ(GraphCost(graph).transcendental, 100);
  EXPECT_EQ(GraphCost(graph).arithmetic, 100);
  EXPECT_EQ(NodeCost(graph, 0).bytes(), 800);
  EXPECT_EQ(NodeCost(graph, 1).bytes(), 800);
}

TEST(CostTest, OnlyThePartThatIsReadCounts) {
  const Graph graph = SmallGraph("fp32", "x f32 100", "y f32 10",
                                 R"([{"op": "slice", "args": {"self": "%x", "dim": 0, "end": 10}, "outputs": ["y"]}])");
  EXPECT_EQ(GraphCost(graph).bytes_read, 40);
}

TEST(CostTest, ABroadcastOperandIsReadOnce) {
  const Graph graph = SmallGraph("fp32", "x f32 64x8, b f32 8", "y f32 64x8",
                                 R"([{"op": "add", "args": {"self": "%x", "other": "%b"}, "outputs": ["y"]}])");
  EXPECT_EQ(GraphCost(graph).bytes_read, 4 * (64 * 8 + 8));
}

TEST(CostTest, ViewsAndUnusedNodesCostNothing) {
  const Graph graph = SmallGraph("fp32", "x f32 4x6, z f32 1000", "y f32 24",
                                 R"([{"op": "view", "args": {"self": "%x", "size": [24]}, "outputs": ["v"]},
                                     {"op": "exp", "args": {"self": "%z"}, "outputs": ["unused"]},
                                     {"op": "relu", "args": {"self": "%v"}, "outputs": ["y"]}])");
  EXPECT_EQ(NodeCost(graph, 0).bytes(), 0);
  EXPECT_EQ(GraphCost(graph).transcendental, 0);
  EXPECT_EQ(GraphCost(graph).bytes(), 4 * 48);
}

TEST(CostTest, TwoHalvesOfOneInputAreAllOfIt) {
  const Graph graph = SmallGraph("fp32", "x f32 8x32", "y f32 8x16",
                                 R"([{"op": "slice", "args": {"self": "%x", "dim": 1, "end": 16}, "outputs": ["a"]},
                                     {"op": "slice", "args": {"self": "%x", "dim": 1, "start": 16}, "outputs": ["b"]},
                                     {"op": "mul", "args": {"self": "%a", "other": "%b"}, "outputs": ["y"]}])");
  EXPECT_EQ(GraphCost(graph).bytes_read, 4 * 8 * 32);
}

TEST(CostTest, WhatATransposedConvolutionLeavesOutIsNotCounted) {
  // Every element of x meets every element of w once, but for what the padding cuts off: 1 of 3 places at either end.
  const Graph graph = SmallGraph("fp32", "x f32 1x1x8, w f32 1x1x3", "y f32 1x1x15",
                                 R"([{"op": "convolution", "args": {"input": "%x", "weight": "%w", "bias": null,
                                     "stride": [2], "padding": [1], "dilation": [1], "transposed": true,
                                     "output_padding": [0], "groups": 1}, "outputs": ["y"]}])");
  EXPECT_DOUBLE_EQ(GraphCost(graph).multiply_adds, 8 * 3 - 2);
}

TEST(CostTest, WhatLiesInThePaddingIsNotCounted) {
  const Graph graph = SmallGraph("fp32", "x f32 1x1x8x8, w f32 1x1x3x3", "y f32 1x1x8x8",
                                 R"([{"op": "convolution", "args": {"input": "%x", "weight": "%w", "bias": null,
                                     "stride": [1, 1], "padding": [1, 1], "dilation": [1, 1], "transposed": false,
                                     "output_padding": [0, 0], "groups": 1}, "outputs": ["y"]}])");
  EXPECT_DOUBLE_EQ(GraphCost(graph).multiply_adds, (3 * 8 - 2) * (3 * 8 - 2));
}

TEST(CostTest, OfManyPlacesTheShareIsTakenFromASample) {
  const Graph graph = SmallGraph("fp32", "x f32 1x1x300000, w f32 1x1x3", "y f32 1x1x1199999",
                                 R"([{"op": "convolution", "args": {"input": "%x", "weight": "%w", "bias": null,
                                     "stride": [4], "padding": [0], "dilation": [1], "transposed": true,
                                     "output_padding": [0], "groups": 1}, "outputs": ["y"]}])");
  EXPECT_LE(GraphCost(graph).multiply_adds, 3 * 300000);
  EXPECT_GE(GraphCost(graph).multiply_adds, 0.95 * 3 * 300000);
}

TEST(CostTest, WhatHangsOnDataIsCounted) {
  const Graph graph =
      SmallGraph("fp32", "x f32 8, m bool 8", "y f32 ",
                 R"([{"op": "where", "args": {"condition": "%m", "self": "%x", "other": 0.0}, "outputs": ["t"]},
                                     {"op": "sum", "args": {"self": "%t"}, "outputs": ["y"]}])");
  EXPECT_EQ(GraphCost(graph).arithmetic, 8);
}

TEST(CostTest, WhatIsScatteredIsAddedOnce) {
  const Graph graph = SmallGraph(
      "fp32", "x f32 200x16, i i64 3000, s f32 3000x16", "y f32 200x16",
      R"([{"op": "index_add", "args": {"self": "%x", "dim": 0, "index": "%i", "source": "%s"}, "outputs": ["y"]}])");
  EXPECT_DOUBLE_EQ(GraphCost(graph).arithmetic, 3000 * 16 + 200 * 16);
}

TEST(CostTest, PlacesInOrderAreNotCountedByPairs) {
  const Graph graph = SmallGraph("fp32", "x f32 8x1000", "v f32 8x4, i i64 8x4",
                                 R"([{"op": "topk", "args": {"self": "%x", "k": 4}, "outputs": ["v", "i"]}])");
  EXPECT_LE(GraphCost(graph).flops(), 8 * 1000);
}

TEST(CostTest, OnlyWhatOutputsNeedIsComputedAndRead) {
  const Graph graph = SmallGraph("fp32", "a f32 64x64, b f32 64x64", "y f32 64x64",
                                 R"([{"op": "mm", "args": {"self": "%a", "mat2": "%b"}, "outputs": ["t"]},
                                     {"op": "triu", "args": {"self": "%t"}, "outputs": ["y"]}])");
  EXPECT_NEAR(GraphCost(graph).multiply_adds, 65 * 32 * 64, 1);
  const Graph half =
      SmallGraph("fp32", "x f32 64x64", "y f32 64x64", R"([{"op": "triu", "args": {"self": "%x"}, "outputs": ["y"]}])");
  EXPECT_NEAR(GraphCost(half).bytes_read, 4 * 65 * 32, 1);
}

// One element of each row: what is folded for it is folded for every row.
TEST(CostTest, WhatEachRowOfANeededColumnTakesIsCounted) {
  const Graph column = SmallGraph("fp32", "x f32 16x100", "y f32 16",
                                  R"([{"op": "softmax", "args": {"self": "%x", "dim": 1}, "outputs": ["t"]},
                                      {"op": "select", "args": {"self": "%t", "dim": 1, "index": 3}, "outputs": ["y"]}])");
  for (const Which which : {Which::kWritten, Which::kSure, Which::kLeast}) {
    const Cost cost = GraphCost(column, which);
    EXPECT_EQ(cost.bytes_read, 4 * 16 * 100);
    EXPECT_GE(cost.transcendental, 16 * 100);
    EXPECT_LE(cost.transcendental, 16 * 101);
  }
}

TEST(CostTest, TheLossOfOneClassARowReadsAllOfThem) {
  const std::string loss = R"({"op": "nll_loss", "args": {"self": "%l", "target": "%c"}, "outputs": ["y"]}])";
  const Cost plain =
      GraphCost(SmallGraph("fp32", "x f32 16x100, c i64 16", "y f32 ",
                           R"([{"op": "log_softmax", "args": {"self": "%x", "dim": 1}, "outputs": ["l"]},)" + loss));
  EXPECT_GE(plain.bytes_read, 4 * 16 * 100);
  EXPECT_GE(plain.transcendental, 16 * 100);
  const Cost viewed =
      GraphCost(SmallGraph("fp32", "x f32 4x4x100, c i64 16", "y f32 ",
                           R"([{"op": "log_softmax", "args": {"self": "%x", "dim": 2}, "outputs": ["t"]},
                                               {"op": "view", "args": {"self": "%t", "size": [16, 100]}, "outputs": ["l"]},)" +
                               loss));
  EXPECT_EQ(viewed.bytes_read, plain.bytes_read);
  EXPECT_EQ(viewed.transcendental, plain.transcendental);
}

TEST(CostTest, AScanCostsOneOperationAnElement) {
  const Graph graph = SmallGraph("fp32", "x f32 8x100", "y f32 8x100",
                                 R"([{"op": "cumsum", "args": {"self": "%x", "dim": 1}, "outputs": ["y"]}])");
  EXPECT_EQ(GraphCost(graph).arithmetic, 800);
  EXPECT_EQ(GraphCost(graph).bytes(), 2 * 4 * 800);
}

// PyTorch's own, and as people spell it: a mask out of indices, that is added or chosen by, in other dimensions.
TEST(CostTest, WhatAMaskOfIndicesHidesIsNotMultiplied) {
  const std::string tensors = "q f32 2x3x16x8, k f32 2x3x16x8, v f32 2x3x16x8", seen = "17 of 32 pairs";
  constexpr double kPairs = 2 * 3 * 16 * 16 * (8 + 8);
  const auto count = [&](const std::string& nodes) {
    const Cost cost = GraphCost(SmallGraph("fp32", tensors, "y f32 2x3x16x8", nodes));
    EXPECT_EQ(cost.bytes_read, 3 * 4 * 2 * 3 * 16 * 8) << "each row is seen by some";
    return cost.multiply_adds / kPairs;
  };
  const auto attention = [&](const std::string& more) {
    return count(R"([{"op": "scaled_dot_product_attention", "args": {"query": "%q", "key": "%k", "value": "%v")" +
                 more + R"(}, "outputs": ["y"]}])");
  };
  EXPECT_EQ(attention(""), 1) << seen;
  EXPECT_EQ(attention(R"(, "is_causal": true)"), 17.0 / 32);
  const auto spelled = [&](const std::string& condition, const std::string& mask) {
    return count(R"([{"op": "permute", "args": {"self": "%k", "dims": [0, 1, 3, 2]}, "outputs": ["kt"]},
         {"op": "view", "args": {"self": "%q", "size": [6, 16, 8]}, "outputs": ["q6"]},
         {"op": "view", "args": {"self": "%kt", "size": [6, 8, 16]}, "outputs": ["k6"]},
         {"op": "view", "args": {"self": "%v", "size": [6, 16, 8]}, "outputs": ["v6"]},
         {"op": "bmm", "args": {"self": "%q6", "mat2": "%k6"}, "outputs": ["s6"]},
         {"op": "view", "args": {"self": "%s6", "size": [2, 3, 16, 16]}, "outputs": ["s"]},
         {"op": "arange", "args": {"end": 16}, "outputs": ["j"]},
         {"op": "view", "args": {"self": "%j", "size": [16, 1]}, "outputs": ["i"]},)" +
                 condition + "," + mask +
                 R"(,{"op": "_softmax", "args": {"self": "%x", "dim": -1, "half_to_float": false}, "outputs": ["p"]},
         {"op": "view", "args": {"self": "%p", "size": [6, 16, 16]}, "outputs": ["p6"]},
         {"op": "bmm", "args": {"self": "%p6", "mat2": "%v6"}, "outputs": ["o"]},
         {"op": "view", "args": {"self": "%o", "size": [2, 3, 16, 8]}, "outputs": ["y"]}])");
  };
  const std::string later = R"({"op": "gt.Tensor", "args": {"self": "%j", "other": "%i"}, "outputs": ["c"]})";
  const std::string filled =
      R"({"op": "masked_fill.Scalar", "args": {"self": "%s", "mask": "%c", "value": {"real": "-inf"}}, "outputs": ["x"]})";
  EXPECT_EQ(spelled(later, filled), 17.0 / 32);
  // A window of three keys, whose infinity comes of an operator of its own.
  const std::string outside = R"({"op": "sub.Tensor", "args": {"self": "%j", "other": "%i"}, "outputs": ["d"]},
      {"op": "gt.Scalar", "args": {"self": "%d", "other": 0}, "outputs": ["after"]},
      {"op": "le.Scalar", "args": {"self": "%d", "other": -3}, "outputs": ["long_before"]},
      {"op": "bitwise_or.Tensor", "args": {"self": "%after", "other": "%long_before"}, "outputs": ["c"]})";
  const std::string chosen =
      R"({"op": "scalar_tensor", "args": {"s": {"real": "-inf"}, "dtype": "f32"}, "outputs": ["never"]},
         {"op": "where.self", "args": {"condition": "%c", "self": "%never", "other": "%s"}, "outputs": ["x"]})";
  EXPECT_EQ(spelled(outside, chosen), (1 + 2 + 14 * 3) / 256.0);
  // What only data say is not known.
  const std::string by_data = R"({"op": "lt.Tensor", "args": {"self": "%s", "other": "%i"}, "outputs": ["c"]})";
  EXPECT_EQ(spelled(by_data, filled), 1);
}

// A product and a sum for each term of each expert's own rows, of which only data say how many there are.
TEST(CostTest, TermsBetweenTwoPlacesOutOfDataAreOneResultsEach) {
  const Graph graph = SmallGraph("torch", "a bf16 16x300, b bf16 300x8, e i32 5", "y bf16 5x16x8",
                                 R"([{"op": "_grouped_mm", "args": {"self": "%a", "mat2": "%b", "offs": "%e"},
                                      "outputs": ["y"]}])");
  EXPECT_EQ(GraphCost(graph).flops(), 2 * 16 * 300 * 8);
  EXPECT_EQ(GraphCost(graph, Which::kSure).flops(), 0);
  EXPECT_EQ(GraphCost(graph, Which::kLeast).flops(), 0);
}

TEST(CostTest, ExponentialsThatAMaskOfIndicesHidesAreNotCounted) {
  const Graph graph = SmallGraph("fp32", "q f32 64x8, k f32 64x8, v f32 64x8", "y f32 64x8",
                                 R"([{"op": "scaled_dot_product_attention", "args": {"query": "%q", "key": "%k",
                                      "value": "%v", "is_causal": true}, "outputs": ["y"]}])");
  EXPECT_LE(GraphCost(graph).transcendental, 2 * 64 * 65 / 2) << "at most one for the sum and one for the weight";
  EXPECT_GE(GraphCost(graph).transcendental, 64 * 65 / 2);
}

// What only whole numbers out of data hide, as lengths do, may be all but one key: neither it nor its values are sure.
TEST(CostTest, WhatLengthsOutOfDataHideIsNotSure) {
  const Graph graph =
      SmallGraph("torch", "q bf16 2x3x1x8, k bf16 2x3x64x8, v bf16 2x3x64x8, n i64 2x1x1x1", "y bf16 2x3x1x8",
                 R"([{"op": "arange", "args": {"end": 64}, "outputs": ["j"]},
          {"op": "lt.Tensor", "args": {"self": "%j", "other": "%n"}, "outputs": ["m"]},
          {"op": "scaled_dot_product_attention", "args": {"query": "%q", "key": "%k", "value": "%v",
           "attn_mask": "%m"}, "outputs": ["y"]}])");
  EXPECT_GE(GraphCost(graph).bytes_read, 2 * 2 * 2 * 3 * 64 * 8);
  EXPECT_EQ(GraphCost(graph).multiply_adds, 2 * 2 * 3 * 64 * 8);
  for (const Which which : {Which::kSure, Which::kLeast}) {
    const Cost cost = GraphCost(graph, which);
    EXPECT_LE(cost.bytes_read, 2 * 2 * 3 * 8 + 16);
    EXPECT_EQ(cost.multiply_adds, 0);
    EXPECT_EQ(cost.transcendental, 0);
    EXPECT_LE(cost.arithmetic, 2 * 3 * (64 + 1)) << "the largest of each row";
  }
}

TEST(CostTest, ValuesOfKeysThatIndicesHideAreNotRead) {
  const Graph graph = SmallGraph("torch", "q bf16 3x1x8, k bf16 3x64x8, v bf16 3x64x8", "y bf16 3x1x8",
                                 R"([{"op": "arange", "args": {"end": 64}, "outputs": ["j"]},
          {"op": "ge.Scalar", "args": {"self": "%j", "other": 48}, "outputs": ["m"]},
          {"op": "scaled_dot_product_attention", "args": {"query": "%q", "key": "%k", "value": "%v",
           "attn_mask": "%m"}, "outputs": ["y"]}])");
  EXPECT_EQ(GraphCost(graph).bytes_read, 2 * (3 * 8 + 2 * 3 * 16 * 8));
}

// Activations are zero where they are; nobody leaves their products out.
TEST(CostTest, WhatRealNumbersMakeZeroIsMultipliedForSure) {
  const Graph graph = SmallGraph("fp32", "x f32 8x16, w f32 16x4", "y f32 8x4",
                                 R"([{"op": "gt.Scalar", "args": {"self": "%x", "other": 0}, "outputs": ["c"]},
           {"op": "where", "args": {"condition": "%c", "self": "%x", "other": 0.0}, "outputs": ["t"]},
           {"op": "mm", "args": {"self": "%t", "mat2": "%w"}, "outputs": ["y"]}])");
  EXPECT_EQ(GraphCost(graph, Which::kSure).multiply_adds, 8 * 16 * 4);
  EXPECT_EQ(GraphCost(graph, Which::kSure).bytes_read, GraphCost(graph).bytes_read);
}

// A scale for a block of a row is multiplied into the row's elements before, or into the block's sum.
TEST(CostTest, AScaleInsideOfASumIsNoProductOfEachTerm) {
  const std::string scaled = R"([{"op": "_scaled_mm", "args": {"self": "%a", "mat2": "%b", "scale_a": "%p",
      "scale_b": "%r", "out_dtype": "bf16"}, "outputs": ["y"]}])";
  const Graph graph =
      SmallGraph("torch", "a f8e4m3 64x256, b f8e4m3 256x128, p f32 64x2, r f32 2x1", "y bf16 64x128", scaled);
  const Cost cost = GraphCost(graph);
  EXPECT_EQ(cost.multiply_adds, 64 * 256 * 128);
  EXPECT_EQ(cost.reals8, cost.multiply_adds);
  EXPECT_LE(cost.arithmetic, 2 * 64 * 256 + 256 * 128);
  EXPECT_EQ(GraphCost(graph, Which::kLeast).multiply_adds, cost.multiply_adds) << "blocks are no windows";
}

}  // namespace
}  // namespace hone
