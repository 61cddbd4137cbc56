// Maps whose channels lie last as what they read has them, and what reads them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "dsl/testing/interpreter.h"
#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::Written;
using testing::WrittenText;

// A product of pixels, its columns as the channels of an image, and a sum of that and of what lies likewise; what reads
// the sum makes the outputs.
std::string GraphOfPixels(const std::string& outputs, const std::string& readers) {
  const std::string drawn = R"("dtype": "f32", "generator": {"kind": "uniform", "low": -1, "high": 1})";
  return fmt::format(
      R"({{"hone_problem": 1, "name": "n", "tensors": [
        {{"name": "t", "shape": [2, 6, 7, 32], "role": "input", {0}}},
        {{"name": "r", "shape": [2, 6, 7, 16], "role": "input", {0}}},
        {{"name": "w", "shape": [16, 32], "role": "parameter", {0}}},
        {{"name": "g", "shape": [16, 1, 1], "role": "parameter", {0}}},
        {{"name": "k", "shape": [16, 1, 3, 3], "role": "parameter", {0}}}, {1}],
      "graph": [
        {{"op": "linear", "args": {{"input": "%t", "weight": "%w", "bias": null}}, "outputs": ["l"]}},
        {{"op": "permute", "args": {{"self": "%l", "dims": [0, 3, 1, 2]}}, "outputs": ["p"]}},
        {{"op": "permute", "args": {{"self": "%r", "dims": [0, 3, 1, 2]}}, "outputs": ["q"]}},
        {{"op": "mul", "args": {{"self": "%p", "other": "%g"}}, "outputs": ["m"]}},
        {{"op": "add", "args": {{"self": "%m", "other": "%q"}}, "outputs": ["s"]}}, {2}]}})",
      drawn, outputs, readers);
}
std::string OutputOf(const std::string& name, const std::string& shape) {
  return fmt::format(R"({{"name": "{}", "shape": {}, "dtype": "f32", "role": "output"}})", name, shape);
}
const std::string kDepthwise =
    R"({"op": "convolution", "args": {"input": "%s", "weight": "%k", "bias": null, "stride": [1, 1], "padding": [1, 1], )"
    R"("dilation": [1, 1], "transposed": false, "output_padding": [0, 0], "groups": 16}, "outputs": ["y"]})";
const std::string kSquares = R"({"op": "mul", "args": {"self": "%s", "other": "%s"}, "outputs": ["z"]})";

// What the program makes of numbers that are the same for all programs.
std::vector<double> Computed(const std::string& graph, const Fusion& fusion, const std::string& output) {
  const auto program = Written(graph, fusion);
  const auto checked = dsl::Check(*program, nullptr, TypicalDevice());
  const auto& kernels = std::get<dsl::KernelProgram>(checked);
  std::vector<std::vector<double>> values(kernels.buffers.size());
  for (std::size_t b = 0; b < values.size(); ++b) {
    if (kernels.buffers[b].home > dsl::KernelBuffer::Home::kParameter) continue;
    std::mt19937 random(static_cast<unsigned>(kernels.buffers[b].name[0]));
    values[b].resize(static_cast<std::size_t>(ElementCount(kernels.buffers[b].shape)));
    for (double& value : values[b]) value = static_cast<double>(random() % 2048) / 1024 - 1;
  }
  dsl::testing::Interpreter(kernels, values).Run();
  for (std::size_t b = 0; b < values.size(); ++b) {
    if (kernels.buffers[b].name == output) return values[b];
  }
  return {};
}

TEST(TurnedMapsTest, ASumEndsTheProductOfPixelsAndAConvolutionReadsItAsItLies) {
  const std::string graph = GraphOfPixels(OutputOf("y", "[2, 16, 6, 7]") + ", " + OutputOf("z", "[2, 16, 6, 7]"),
                                          kDepthwise + ", " + kSquares);
  const std::string turned = WrittenText(graph, {.turned = true}), plain = WrittenText(graph);
  EXPECT_NE(turned.find("strides [672, 1, 112, 16]\n"), std::string::npos) << turned;
  EXPECT_EQ(turned.find("s = map"), std::string::npos) << turned;
  EXPECT_NE(turned.find(" + r_view"), std::string::npos) << turned;
  EXPECT_NE(plain.find("s = map"), std::string::npos) << plain;
  for (const std::string output : {"y", "z"}) {
    const auto got = Computed(graph, {.turned = true}, output), want = Computed(graph, {}, output);
    ASSERT_EQ(got.size(), 2u * 16 * 6 * 7);
    ASSERT_EQ(want.size(), got.size());
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4) << output << "[" << i << "]";
  }
}

TEST(TurnedMapsTest, WhatIsAnOutputLiesAsItDoes) {
  const std::string graph =
      GraphOfPixels(OutputOf("y", "[2, 16, 6, 7]") + ", " + OutputOf("s", "[2, 16, 6, 7]"), kDepthwise);
  const std::string text = WrittenText(graph, {.turned = true});
  EXPECT_NE(text.find("y = conv(s, k)"), std::string::npos) << text;
}

}  // namespace
}  // namespace hone::expert
