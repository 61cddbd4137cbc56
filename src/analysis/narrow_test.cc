#include "analysis/narrow.h"

#include <gtest/gtest.h>

#include "analysis/cost.h"
#include "graph/testing/small_problem.h"

namespace hone {
namespace {

using testing::SmallGraph;

// The share of a graph's multiply-adds that are products of whole numbers, and of reals, of 8 bits.
struct Shares {
  double wholes = 0, reals = 0;
};
Shares SharesOf(const std::string& inputs, const std::string& nodes, const std::string& output = "y f32 32x64") {
  const Cost cost = GraphCost(SmallGraph("torch", inputs, output, nodes));
  if (cost.multiply_adds <= 0) return {};
  return {cost.wholes8 / cost.multiply_adds, cost.reals8 / cost.multiply_adds};
}

constexpr const char* kProduct = R"({"op": "mm", "args": {"self": "%x", "mat2": "%w"}, "outputs": ["y"]}])";
std::string Cast(const std::string& from, const std::string& to, const std::string& dtype) {
  return R"({"op": "_to_copy", "args": {"self": "%)" + from + R"(", "dtype": ")" + dtype + R"("}, "outputs": [")" + to +
         R"("]},)";
}
std::string Binary(const std::string& op, const std::string& a, const std::string& b, const std::string& to) {
  return R"({"op": ")" + op + R"(", "args": {"self": "%)" + a + R"(", "other": )" + b + R"(}, "outputs": [")" + to +
         R"("]},)";
}

TEST(NarrowTest, WholeNumbersInAnyTypeAreProductsOfThem) {
  const std::string inputs = "a i8 32x128, b i8 128x64";
  EXPECT_EQ(SharesOf(inputs, "[" + Cast("a", "x", "f32") + Cast("b", "w", "f32") + kProduct).wholes, 1);
  EXPECT_EQ(SharesOf(inputs, "[" + Cast("a", "x", "bf16") + Cast("b", "w", "bf16") + kProduct, "y bf16 32x64").wholes,
            1);
  EXPECT_EQ(SharesOf(inputs, "[" + Cast("a", "x", "i32") + Cast("b", "w", "i32") + kProduct, "y i32 32x64").wholes, 1);
  EXPECT_EQ(SharesOf("x i8 32x128, w i8 128x64",
                     R"([{"op": "_int_mm", "args": {"self": "%x", "mat2": "%w"}, "outputs": ["y"]}])", "y i32 32x64")
                .wholes,
            1);
  EXPECT_EQ(SharesOf("a i8 32x128, w f32 128x64", "[" + Cast("a", "x", "f32") + kProduct).wholes, 0);
  EXPECT_EQ(
      SharesOf("a i16 32x128, b i8 128x64", "[" + Cast("a", "x", "f32") + Cast("b", "w", "f32") + kProduct).wholes, 0);
}

TEST(NarrowTest, ScalesOfRowsAndBlocksAndZeroPointsAreTakenOut) {
  const auto wholes = [](const std::string& more, const std::string& scaled) {
    return SharesOf("a u8 32x128, b i8 128x64, " + more,
                    "[" + Cast("a", "f", "f32") + Cast("b", "w", "f32") + scaled + kProduct)
        .wholes;
  };
  EXPECT_EQ(wholes("s f32 32x1", Binary("mul.Tensor", "f", "\"%s\"", "x")), 1);
  EXPECT_EQ(wholes("s f32 32x1, z f32 32x1",
                   Binary("sub.Tensor", "f", "\"%z\"", "c") + Binary("div.Tensor", "c", "\"%s\"", "x")),
            1);
  EXPECT_EQ(wholes("s f32 1x128", Binary("mul.Tensor", "f", "\"%s\"", "x")), 0) << "one a term";
  const auto blocks = [&](const std::string& count, const std::string& each) {
    return wholes("s f32 32x" + count + "x1",
                  R"({"op": "view", "args": {"self": "%f", "size": [32, )" + count + ", " + each +
                      R"(]}, "outputs": ["v"]},)" + Binary("mul.Tensor", "v", "\"%s\"", "t") +
                      R"({"op": "view", "args": {"self": "%t", "size": [32, 128]}, "outputs": ["x"]},)");
  };
  EXPECT_EQ(blocks("4", "32"), 1);
  EXPECT_EQ(blocks("32", "4"), 0) << "no instruction sums so few";
}

TEST(NarrowTest, WhatIsRoundedAndClampedIsWhole) {
  const auto wholes = [](int most) {
    const std::string bounds = R"("min": )" + std::to_string(-most) + R"(, "max": )" + std::to_string(most);
    return SharesOf("a f32 32x128, s f32 32x1, b i8 128x64",
                    "[" + Cast("b", "w", "f32") + Binary("div.Tensor", "a", "\"%s\"", "t") +
                        R"({"op": "round", "args": {"self": "%t"}, "outputs": ["r"]},
                           {"op": "clamp", "args": {"self": "%r", )" +
                        bounds + R"(}, "outputs": ["q"]},)" + Binary("mul.Tensor", "q", "\"%s\"", "x") + kProduct)
        .wholes;
  };
  EXPECT_EQ(wholes(127), 1);
  EXPECT_EQ(wholes(2047), 0);
}

TEST(NarrowTest, RealsOfEightBitsAreProductsOfThemAndSmallWholesAreSuch) {
  EXPECT_EQ(
      SharesOf("a f8e4m3 32x128, b f8e5m2 128x64, s f32 32x1", "[" + Cast("a", "f", "f32") + Cast("b", "w", "f32") +
                                                                   Binary("mul.Tensor", "f", "\"%s\"", "x") + kProduct)
          .reals,
      1);
  EXPECT_EQ(SharesOf("a f32 32x128, b f8e4m3 128x64",
                     "[" + Cast("a", "e", "f8e4m3") + Cast("e", "x", "f32") + Cast("b", "w", "f32") + kProduct)
                .reals,
            1);
  EXPECT_EQ(SharesOf("x f32 32x128, b f8e4m3 128x64", "[" + Cast("b", "w", "f32") + kProduct).reals, 0);
  EXPECT_EQ(
      SharesOf("a f8e4m3 32x128, c bool 128x64", "[" + Cast("a", "x", "f32") + Cast("c", "w", "f32") + kProduct).reals,
      1);
}

// How many pairs there are is counted without multiplying.
TEST(NarrowTest, ProductsOfTruthsInWholeNumbersAreCounting) {
  const Cost cost = GraphCost(SmallGraph("torch", "a bool 32x128, b bool 128x64", "y i32 32x64",
                                         "[" + Cast("a", "x", "i32") + Cast("b", "w", "i32") + kProduct));
  EXPECT_EQ(cost.multiply_adds, 0);
}

}  // namespace
}  // namespace hone
