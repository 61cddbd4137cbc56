// Images of 16 bits with their channels last, whatever makes them.
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

// A bottleneck block of 16 bits: products of pixels, a convolution between them, what was read added behind them.
std::string Bottleneck(const std::string& dtype) {
  const std::string drawn =
      fmt::format(R"("dtype": "{}", "generator": {{"kind": "uniform", "low": -1, "high": 1}})", dtype);
  const auto convolution = [](const std::string& x, const std::string& w, int padding, const std::string& made) {
    return fmt::format(
        R"({{"op": "convolution", "args": {{"input": "%{0}", "weight": "%{1}", "bias": null, "stride": [1, 1],
            "padding": [{2}, {2}], "dilation": [1, 1], "transposed": false, "output_padding": [0, 0], "groups": 1}},
            "outputs": ["{3}"]}})",
        x, w, padding, made);
  };
  return fmt::format(
      R"({{"hone_problem": 1, "name": "n", "tensors": [
        {{"name": "x", "shape": [2, 32, 6, 8], "role": "input", {0}}},
        {{"name": "a", "shape": [16, 32, 1, 1], "role": "parameter", {0}}},
        {{"name": "b", "shape": [16, 16, 3, 3], "role": "parameter", {0}}},
        {{"name": "c", "shape": [32, 16, 1, 1], "role": "parameter", {0}}},
        {{"name": "y", "shape": [2, 32], "dtype": "{1}", "role": "output"}}],
      "graph": [
        {{"op": "relu", "args": {{"self": "%x"}}, "outputs": ["r"]}}, {2},
        {{"op": "relu", "args": {{"self": "%p"}}, "outputs": ["q"]}}, {3},
        {{"op": "relu", "args": {{"self": "%s"}}, "outputs": ["t"]}}, {4},
        {{"op": "add", "args": {{"self": "%u", "other": "%r"}}, "outputs": ["v"]}},
        {{"op": "mean.dim", "args": {{"self": "%v", "dim": [2, 3]}}, "outputs": ["y"]}}]}})",
      drawn, dtype, convolution("r", "a", 0, "p"), convolution("q", "b", 1, "s"), convolution("t", "c", 0, "u"));
}

TEST(ImagesLastTest, AnImageOf16BitsHasItsChannelsLastThroughout) {
  const std::string graph = Bottleneck("bf16"), last = WrittenText(graph, {.last = true});
  // Products of pixels and columns of channels, the second with what was read as its end; the convolution reads what
  // the first has made, and is read, as the language has it.
  EXPECT_NE(last.find("q: bf16 = matmul(r_view, a_view) -> relu(it)"), std::string::npos) << last;
  EXPECT_NE(last.find("strides [768, 1, 128, 16]\n"), std::string::npos) << last;
  EXPECT_NE(last.find("t: bf16 = conv(q_view, b)"), std::string::npos) << last;
  EXPECT_NE(last.find(" -> relu(it)\n"), std::string::npos) << last;
  const auto got = Computed(graph, {.last = true}, "y"), want = Computed(graph, {}, "y");
  ASSERT_EQ(got.size(), 64u);
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 0.02 * std::fabs(want[i]) + 0.02) << i;
  EXPECT_EQ(WrittenText(Bottleneck("f32"), {.last = true}), WrittenText(Bottleneck("f32")));
}

// A convolution, a norm over the channels of each pixel and a product that reads pixels as one dimension.
TEST(ImagesLastTest, NormsOverChannelsAndProductsOfAllPixelsReadThemThere) {
  const std::string drawn = R"("dtype": "bf16", "generator": {"kind": "uniform", "low": -1, "high": 1})";
  const std::string graph = fmt::format(
      R"({{"hone_problem": 1, "name": "n", "tensors": [
        {{"name": "x", "shape": [2, 16, 6, 8], "role": "input", {0}}},
        {{"name": "b", "shape": [16, 16, 3, 3], "role": "parameter", {0}}},
        {{"name": "w", "shape": [24, 16], "role": "parameter", {0}}},
        {{"name": "y", "shape": [2, 24, 48], "dtype": "bf16", "role": "output"}}],
      "graph": [
        {{"op": "convolution", "args": {{"input": "%x", "weight": "%b", "bias": null, "stride": [1, 1],
            "padding": [1, 1], "dilation": [1, 1], "transposed": false, "output_padding": [0, 0], "groups": 1}},
            "outputs": ["c"]}},
        {{"op": "mean.dim", "args": {{"self": "%c", "dim": [1], "keepdim": true}}, "outputs": ["m"]}},
        {{"op": "sub.Tensor", "args": {{"self": "%c", "other": "%m"}}, "outputs": ["d"]}},
        {{"op": "mul.Tensor", "args": {{"self": "%d", "other": "%d"}}, "outputs": ["q"]}},
        {{"op": "mean.dim", "args": {{"self": "%q", "dim": [1], "keepdim": true}}, "outputs": ["v"]}},
        {{"op": "add.Scalar", "args": {{"self": "%v", "other": 0.01}}, "outputs": ["e"]}},
        {{"op": "rsqrt", "args": {{"self": "%e"}}, "outputs": ["r"]}},
        {{"op": "mul.Tensor", "args": {{"self": "%d", "other": "%r"}}, "outputs": ["o"]}},
        {{"op": "avg_pool2d", "args": {{"self": "%o", "kernel_size": [3, 3], "stride": [1, 1], "padding": [1, 1]}},
          "outputs": ["p"]}},
        {{"op": "view", "args": {{"self": "%p", "size": [2, 16, 48]}}, "outputs": ["s"]}},
        {{"op": "unsqueeze", "args": {{"self": "%w", "dim": 0}}, "outputs": ["u"]}},
        {{"op": "expand", "args": {{"self": "%u", "size": [2, 24, 16]}}, "outputs": ["t"]}},
        {{"op": "bmm", "args": {{"self": "%t", "mat2": "%s"}}, "outputs": ["y"]}}]}})",
      drawn);
  const std::string last = WrittenText(graph, {.last = true});
  EXPECT_NE(last, WrittenText(graph));
  EXPECT_NE(last.find("o: bf16 = norm(c_view) over [2]"), std::string::npos) << last;
  EXPECT_NE(last.find("strides [768, 1, 16]\n"), std::string::npos) << last;
  const auto got = Computed(graph, {.last = true}, "y"), want = Computed(graph, {}, "y");
  ASSERT_EQ(got.size(), 2u * 24 * 48);
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 0.02 * std::fabs(want[i]) + 0.02) << i;
}

TEST(ImagesLastTest, HeadsOfAttentionAreNoChannels) {
  const std::string heads = R"({"hone_problem": 1, "name": "n", "tensors": [
    {"name": "q", "shape": [2, 4, 32, 16], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": -1, "high": 1}},
    {"name": "k", "shape": [2, 32, 4, 16], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": -1, "high": 1}},
    {"name": "y", "shape": [2, 4, 32, 32], "dtype": "bf16", "role": "output"}], "graph": [
    {"op": "relu", "args": {"self": "%q"}, "outputs": ["r"]},
    {"op": "view", "args": {"self": "%r", "size": [8, 32, 16]}, "outputs": ["s"]},
    {"op": "permute", "args": {"self": "%k", "dims": [0, 2, 3, 1]}, "outputs": ["p"]},
    {"op": "view", "args": {"self": "%p", "size": [8, 16, 32]}, "outputs": ["t"]},
    {"op": "bmm", "args": {"self": "%s", "mat2": "%t"}, "outputs": ["u"]},
    {"op": "view", "args": {"self": "%u", "size": [2, 4, 32, 32]}, "outputs": ["y"]}]})";
  EXPECT_EQ(WrittenText(heads, {.last = true}), WrittenText(heads));
}

}  // namespace
}  // namespace hone::expert
