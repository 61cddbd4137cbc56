// Means and sums of convolutions: which become a convolution with summed weights, and that they make the same numbers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>

#include "propose/expert/testing/computed.h"

namespace hone::expert {
namespace {

using testing::Computed;
using testing::WrittenText;

struct Case {
  std::string_view x, w, y, convolution, between, pool;
  std::int64_t outputs = 0;  // of the convolution: its bias
};

std::string Graph(const Case& of) {
  constexpr std::string_view kUniform = R"("generator": {"kind": "uniform", "low": 0, "high": 1}})";
  return fmt::format(R"({{"hone_problem": 1, "name": "means", "contract": "torch", "tensors": [
  {{"name": "x", "shape": [{}], "dtype": "f32", "role": "input", {},
  {{"name": "w", "shape": [{}], "dtype": "f32", "role": "parameter", {},
  {{"name": "b", "shape": [{}], "dtype": "f32", "role": "parameter", {},
  {{"name": "y", "shape": [{}], "dtype": "f32", "role": "output"}}], "graph": [
  {{"op": "convolution", "args": {{"input": "%x", "weight": "%w", "bias": "%b", {}}}, "outputs": ["c"]}},
  {}
  {}]}})",
                     of.x, kUniform, of.w, kUniform, of.outputs, kUniform, of.y, of.convolution, of.between, of.pool);
}
std::string Convolved(std::string_view stride, std::string_view padding, std::string_view dilation,
                      std::string_view transposed = "false", std::string_view more = "0, 0") {
  return fmt::format(R"("stride": [{}], "padding": [{}], "dilation": [{}], "transposed": {}, "output_padding": [{}],
    "groups": 1)",
                     stride, padding, dilation, transposed, more);
}

constexpr std::string_view kMeanOfFour =
    R"({"op": "avg_pool2d", "args": {"self": "%c", "kernel_size": [4, 4]}, "outputs": ["y"]})";
constexpr std::string_view kMeanOfTwo =
    R"({"op": "avg_pool2d", "args": {"self": "%c", "kernel_size": [2, 2]}, "outputs": ["y"]})";

void ExpectSummed(const Case& of) {
  const std::string graph = Graph(of);
  SCOPED_TRACE(graph);
  const std::string program = WrittenText(graph);
  EXPECT_EQ(program.find("= pool"), std::string::npos) << program;
  EXPECT_EQ(program.find("= reduce"), std::string::npos) << program;
  EXPECT_NE(program.find("= nest [i < 4"), std::string::npos) << program;  // the weights
  const auto got = Computed(graph, {}, "y"), want = Computed(graph, {.products = false}, "y");
  ASSERT_EQ(got.size(), want.size());
  ASSERT_FALSE(got.empty());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-5 * std::fabs(want[i]) + 1e-5) << i;
}

TEST(FusePoolsTest, AMeanOfAConvolutionHasItsWeightsSummed) {
  const std::string plain = Convolved("1, 1", "0, 0", "1, 1");
  ExpectSummed({.x = "2, 4, 34, 26",
                .w = "4, 4, 3, 3",
                .y = "2, 4, 8, 6",
                .convolution = plain,
                .between = "",
                .pool = kMeanOfFour,
                .outputs = 4});
  // Windows of the mean that overlap, a stride, padding, what scales and shifts between.
  ExpectSummed({.x = "3, 4, 33, 35",
                .w = "4, 4, 3, 3",
                .y = "3, 4, 16, 17",
                .convolution = Convolved("1, 1", "1, 1", "1, 1"),
                .between = R"({"op": "mul", "args": {"self": "%c", "other": 0.5}, "outputs": ["d"]},)",
                .pool = R"({"op": "avg_pool2d", "args": {"self": "%d", "kernel_size": [3, 3], "stride": [2, 2]},
                "outputs": ["y"]})",
                .outputs = 4});
  ExpectSummed({.x = "3, 4, 33, 35",
                .w = "4, 4, 3, 3",
                .y = "3, 4, 5, 6",
                .convolution = Convolved("2, 2", "1, 1", "1, 1"),
                .between = "",
                .pool = R"({"op": "avg_pool2d", "args": {"self": "%c", "kernel_size": [3, 3]}, "outputs": ["y"]})",
                .outputs = 4});
  ExpectSummed({.x = "2, 4, 38, 30",
                .w = "4, 4, 3, 3",
                .y = "2, 4, 8, 6",
                .convolution = Convolved("1, 1", "0, 0", "2, 2"),
                .between = "",
                .pool = kMeanOfFour,
                .outputs = 4});
}

TEST(FusePoolsTest, PhasesOfATransposedOneBecomeOne) {
  ExpectSummed({.x = "2, 3, 13, 12",
                .w = "3, 4, 3, 3",
                .y = "2, 4, 12, 11",
                .convolution = Convolved("2, 2", "1, 1", "1, 1", "true"),
                .between = "",
                .pool = kMeanOfTwo,
                .outputs = 4});
  ExpectSummed({.x = "2, 3, 13, 12",
                .w = "3, 4, 5, 5",
                .y = "2, 4, 12, 11",
                .convolution = Convolved("3, 3", "2, 2", "1, 1", "true", "1, 1"),
                .between = "",
                .pool = R"({"op": "avg_pool2d", "args": {"self": "%c", "kernel_size": [3, 3]}, "outputs": ["y"]})",
                .outputs = 4});
}

// A window that goes backwards is turned, and one of a whole dimension lies in the channels.
TEST(FusePoolsTest, AMeanOfADimensionIsAWindowOfAllOfIt) {
  ExpectSummed({.x = "2, 3, 5, 20, 12",
                .w = "3, 4, 3, 3, 3",
                .y = "2, 4, 1, 20, 12",
                .convolution = Convolved("1, 1, 1", "1, 1, 1", "1, 1, 1", "true", "0, 0, 0"),
                .between = "",
                .pool = R"({"op": "mean", "args": {"self": "%c", "dim": [2], "keepdim": true}, "outputs": ["y"]})",
                .outputs = 4});
}

TEST(FusePoolsTest, WhatIsNoSumOfTheConvolutionStays) {
  const auto pools = [](std::string_view between, std::string_view pool, std::string_view x = "2, 4, 34, 26",
                        std::string_view y = "2, 4, 8, 6") {
    const std::string graph = Graph({.x = x,
                                     .w = "4, 4, 3, 3",
                                     .y = y,
                                     .convolution = Convolved("1, 1", "0, 0", "1, 1"),
                                     .between = between,
                                     .pool = pool,
                                     .outputs = 4});
    return WrittenText(graph).find("= pool") != std::string::npos;
  };
  EXPECT_FALSE(pools("", kMeanOfFour));
  EXPECT_TRUE(pools("", R"({"op": "max_pool2d", "args": {"self": "%c", "kernel_size": [4, 4]}, "outputs": ["y"]})"));
  EXPECT_TRUE(pools(R"({"op": "relu", "args": {"self": "%c"}, "outputs": ["d"]},)",
                    R"({"op": "avg_pool2d", "args": {"self": "%d", "kernel_size": [4, 4]}, "outputs": ["y"]})"));
  // Beyond the convolution's edge is nothing of it; and weights as many as the image has elements.
  EXPECT_TRUE(pools("", R"({"op": "avg_pool2d", "args": {"self": "%c", "kernel_size": [4, 4], "padding": [1, 1]},
                    "outputs": ["y"]})"));
  EXPECT_TRUE(pools("", kMeanOfFour, "1, 4, 10, 10", "1, 4, 2, 2"));
}

}  // namespace
}  // namespace hone::expert
