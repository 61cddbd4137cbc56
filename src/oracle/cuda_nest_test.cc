#include "oracle/cuda_nest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "graph/testing/small_problem.h"
#include "oracle/slabs.h"

namespace hone {
namespace {

using testing::SmallGraph;

constexpr auto kTwoProducts = R"([{"op": "mm", "args": {"self": "%a", "mat2": "%b"}, "outputs": ["t"]},
                                  {"op": "mm", "args": {"self": "%t", "mat2": "%b"}, "outputs": ["y"]}])";
constexpr auto kSum = R"([{"op": "sum.dim_IntList", "args": {"self": "%x", "dim": [1]}, "outputs": ["y"]}])";

std::string AllOf(const CudaNests& nests) { return nests.Source(0, nests.kernels.size()); }

TEST(CudaNestTest, OnlyWhatLiesBetweenKernelsTakesMemory) {
  const auto nests = WriteCudaNests(SmallGraph("fp32", "a f32 8x32, b f32 32x32", "y f32 8x32", kTwoProducts));
  ASSERT_EQ(nests.memories.size(), 1u);
  EXPECT_EQ(nests.memories[0].elements, 8 * 32);
  EXPECT_EQ(nests.memories[0].tracked_bytes, 16);
  EXPECT_EQ(nests.memories[0].honest_bytes, 4);
  EXPECT_EQ(PlanSlabs(nests).peak_bytes, 16 * 8 * 32);
}

TEST(CudaNestTest, ConvolutionsMultiplyInTf32WherePyTorchDoes) {
  constexpr auto kBoth = R"([{"op": "convolution", "args": {"input": "%x", "weight": "%w", "bias": null, "stride": [1],
     "padding": [0], "dilation": [1], "transposed": false, "output_padding": [0], "groups": 1}, "outputs": ["t"]},
    {"op": "relu", "args": {"self": "%t"}, "outputs": ["u"]},
    {"op": "matmul", "args": {"self": "%u", "other": "%m"}, "outputs": ["y"]}])";
  const auto units = [&](const std::string& contract, TorchProducts products) {
    const auto nests =
        WriteCudaNests(SmallGraph(contract, "x f32 2x8x40, w f32 4x8x3, m f32 38x16", "y f32 2x4x16", kBoth), products);
    std::vector<double> all;
    for (const auto& kernel : nests.kernels) {
      if (kernel.Text().find("Product") != std::string::npos) all.push_back(kernel.units.operand);
    }
    return all;
  };
  EXPECT_EQ(units("torch", TorchProducts::kTf32), (std::vector<double>{0x1p-11, 0x1p-24}));
  EXPECT_EQ(units("torch", TorchProducts::kF32), (std::vector<double>{0x1p-24, 0x1p-24}));
  EXPECT_EQ(units("fp32", TorchProducts::kTf32), (std::vector<double>{0x1p-24, 0x1p-24}));
}

// Each kernel by itself, whatever comes before it: a convolution after a pool, a product after the convolution.
TEST(CudaNestTest, TilesMultiplyInTheirOwnPrecision) {
  const auto nests = WriteCudaNests(
      SmallGraph("torch", "x f32 1x32x256x256, w f32 64x32x3x3, m f32 128x300", "y f32 1x64x128x300",
                 R"([{"op": "avg_pool2d", "args": {"self": "%x", "kernel_size": [2, 2], "stride": [2, 2]},
                      "outputs": ["p"]},
                     {"op": "convolution", "args": {"input": "%p", "weight": "%w", "bias": null, "stride": [1, 1],
                      "padding": [1, 1], "dilation": [1, 1], "transposed": false, "output_padding": [0, 0],
                      "groups": 1}, "outputs": ["t"]},
                     {"op": "matmul", "args": {"self": "%t", "other": "%m"}, "outputs": ["y"]}])"),
      TorchProducts::kTf32);
  std::vector<double> of_tiles;
  for (const auto& kernel : nests.kernels) {
    if (kernel.Text().find("SumTile<") != std::string::npos) of_tiles.push_back(kernel.units.operand);
  }
  EXPECT_EQ(of_tiles, (std::vector<double>{0x1p-11, 0x1p-24}));
}

TEST(CudaNestTest, ScaledProductsOfEightBitsAreRoundedWherePyTorchsSumsAre) {
  const auto units = [](const std::string& contract, TorchProducts products) {
    const auto nests = WriteCudaNests(
        SmallGraph(contract, "a f8e4m3 32x64, b f8e4m3 64x48, s f32 1, t f32 1", "y bf16 32x48",
                   R"([{"op": "_scaled_mm", "args": {"self": "%a", "mat2": "%b", "scale_a": "%s", "scale_b": "%t",
                        "out_dtype": "bf16"}, "outputs": ["y"]}])"),
        products);
    return nests.kernels.at(0).units;
  };
  EXPECT_EQ(units("torch", TorchProducts::kTf32), (ProductUnits{0x1p-13, 0x1p-12}));
  EXPECT_EQ(units("torch", TorchProducts::kF32), (ProductUnits{0x1p-24, 0}));
  EXPECT_EQ(units("fp32", TorchProducts::kTf32), (ProductUnits{0x1p-24, 0}));
}

TEST(CudaNestTest, SumsOfHalvesAreCutOffWherePyTorchsAre) {
  const auto cut = [](const std::string& contract, const std::string& inputs, TorchProducts products) {
    const auto nests =
        WriteCudaNests(SmallGraph(contract, inputs, "y f32 32x48",
                                  R"([{"op": "matmul", "args": {"self": "%a", "other": "%b"}, "outputs": ["p"]},
                                      {"op": "_to_copy", "args": {"self": "%p", "dtype": "f32"}, "outputs": ["y"]}])"),
                       products);
    return nests.kernels.at(0).units.cut_terms;
  };
  const std::string halves = "a bf16 32x64, b bf16 64x48";
  EXPECT_EQ(cut("torch", halves, TorchProducts::kTf32), 16);
  EXPECT_EQ(cut("bf16", "a f16 32x64, b f16 64x48", TorchProducts::kTf32), 16);
  EXPECT_EQ(cut("torch", halves, TorchProducts::kF32), 0);
  EXPECT_EQ(cut("fp32", halves, TorchProducts::kTf32), 0);
  EXPECT_EQ(cut("torch", "a f32 32x64, b f32 64x48", TorchProducts::kTf32), 0);
}

TEST(CudaNestTest, WhatNobodyNeedsAnyMoreIsNotCountedWithWhatComesLater) {
  const auto nests =
      WriteCudaNests(SmallGraph("fp32", "x f32 64x64", "y f32 64x64",
                                R"([{"op": "_softmax", "args": {"self": "%x", "dim": 1}, "outputs": ["s"]},
          {"op": "_softmax", "args": {"self": "%s", "dim": 1}, "outputs": ["u"]},
          {"op": "_softmax", "args": {"self": "%u", "dim": 1}, "outputs": ["y"]}])"));
  std::int64_t all = 0;
  for (const auto& memory : nests.memories) all += memory.elements * memory.tracked_bytes;
  EXPECT_LT(PlanSlabs(nests).peak_bytes, all);
}

TEST(CudaNestTest, WhatIsNeverMadeNeedsNothing) {
  const auto nests = WriteCudaNests(SmallGraph("fp32", "x f32 4x300", "y i64 4x2",
                                               R"([{"op": "exp", "args": {"self": "%x"}, "outputs": ["t"]},
          {"op": "topk", "args": {"self": "%t", "k": 2}, "outputs": ["", "i"]},
          {"op": "add", "args": {"self": "%i", "other": 1}, "outputs": ["y"]}])"));
  std::set<int> done;
  for (const auto& run : nests.runs) done.insert(run.done.begin(), run.done.end());
  EXPECT_EQ(done.size(), nests.memories.size()) << "t too, which the values would be read from last";
}

TEST(CudaNestTest, ManyResultsAreAThreadEachAndFewABlockEach) {
  const auto many = WriteCudaNests(SmallGraph("fp32", "x f32 70000x100", "y f32 70000", kSum));
  const auto few = WriteCudaNests(SmallGraph("fp32", "x f32 700x100", "y f32 700", kSum));
  EXPECT_EQ(AllOf(many).find("OverBlock(r"), std::string::npos);
  EXPECT_NE(AllOf(few).find("OverBlock(r"), std::string::npos);
  EXPECT_EQ(few.runs[0].launches[0].count, 700);
}

TEST(CudaNestTest, ABlockMakesATileOfProducts) {
  const auto nests =
      WriteCudaNests(SmallGraph("fp32", "a f32 300x40, b f32 40x310", "y f32 300x310",
                                R"([{"op": "mm", "args": {"self": "%a", "mat2": "%b"}, "outputs": ["y"]}])"));
  ASSERT_EQ(nests.kernels.size(), 1u);
  EXPECT_NE(nests.kernels[0].Text().find("SumTile<R, true, true, false>("), std::string::npos)
      << nests.kernels[0].Text();
  EXPECT_EQ(nests.runs[0].launches[0].count, 5 * 5);
  EXPECT_EQ(nests.runs[0].launches[0].threads, 256);
  EXPECT_EQ(PlanSlabs(nests).peak_bytes, 0);
}

TEST(CudaNestTest, ATransposedSideOfAProductTakesNoMemory) {
  constexpr auto kTransposed = R"([{"op": "t", "args": {"self": "%b"}, "outputs": ["t"]},
                                   {"op": "mm", "args": {"self": "%a", "mat2": "%t"}, "outputs": ["y"]}])";
  const auto nests = WriteCudaNests(SmallGraph("torch", "a bf16 300x40, b bf16 310x40", "y bf16 300x310", kTransposed));
  EXPECT_EQ(nests.memories.size(), 0u);
  ASSERT_EQ(nests.kernels.size(), 1u);
  EXPECT_NE(nests.kernels[0].Text().find("SumTile<R, true, true, true>("), std::string::npos)
      << nests.kernels[0].Text();
  constexpr auto kTwice = R"([{"op": "t", "args": {"self": "%b"}, "outputs": ["t"]},
                              {"op": "mm", "args": {"self": "%a", "mat2": "%t"}, "outputs": ["y"]},
                              {"op": "mm", "args": {"self": "%c", "mat2": "%t"}, "outputs": ["z"]}])";
  const auto twice =
      WriteCudaNests(SmallGraph("torch", "a f32 4x4, b f32 4x4, c f32 4x4", "y f32 4x4, z f32 4x4", kTwice));
  EXPECT_EQ(twice.memories.size(), 1u);
}

TEST(CudaNestTest, TheLongSumOfAFewIsSplitAndPutTogether) {
  const auto nests = WriteCudaNests(SmallGraph("fp32", "x f32 2x1000000", "y f32 2", kSum));
  ASSERT_EQ(nests.runs[0].launches.size(), 2u);
  const auto& parts = nests.runs[0].launches[0];
  EXPECT_GT(parts.count, 64);
  EXPECT_GE(parts.scratch_bytes, parts.count * 48);
  EXPECT_EQ(nests.runs[0].launches[1].arguments.back().kind, CudaNests::Argument::Kind::kScratch);
}

TEST(CudaNestTest, EqualNestsAreOneKernel) {
  const auto nests =
      WriteCudaNests(SmallGraph("fp32", "x f32 300x40", "y f32 300x40, z f32 300x40",
                                R"([{"op": "_softmax", "args": {"self": "%x", "dim": 1}, "outputs": ["y"]},
          {"op": "_softmax", "args": {"self": "%x", "dim": 1}, "outputs": ["z"]}])"));
  std::size_t launches = 0;
  for (const auto& run : nests.runs) launches += run.launches.size();
  EXPECT_EQ(launches, 2 * nests.kernels.size());
}

TEST(CudaNestTest, ARunningSumIsOneThreadAlongItsSteps) {
  const auto nests = WriteCudaNests(SmallGraph(
      "fp32", "x f32 5x9", "y f32 5x9", R"([{"op": "cumsum", "args": {"self": "%x", "dim": 1}, "outputs": ["y"]}])"));
  EXPECT_EQ(nests.runs[0].launches.size(), 1u);
  EXPECT_EQ(nests.runs[0].steps, 1);
  EXPECT_NE(AllOf(nests).find("sum.Add("), std::string::npos);
}

}  // namespace
}  // namespace hone
