// What is seen as a convolution, and runs as one on tensor cores.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <variant>

#include "dsl/lower.h"
#include "propose/expert/cost.h"
#include "propose/expert/testing/written.h"

namespace hone::expert {
namespace {

using testing::WrittenText;

// y = convolution of x, or of what `before` makes of it, with w.
std::string Convolved(std::string_view type, std::string_view x, std::string_view w, std::string_view y,
                      std::string_view by, std::string_view of = "x", std::string_view before = "",
                      std::string_view contract = "torch") {
  return WrittenText(fmt::format(
      R"({{"hone_problem": 1, "name": "conv", "contract": "{}", "tensors": [
  {{"name": "x", "shape": {}, "dtype": "{}", "role": "input", "generator": {{"kind": "uniform", "low": 0, "high": 1}}}},
  {{"name": "w", "shape": {}, "dtype": "{}", "role": "parameter", "generator": {{"kind": "uniform", "low": 0, "high": 1}}}},
  {{"name": "y", "shape": {}, "dtype": "{}", "role": "output"}}], "graph": [{}
  {{"op": "aten.convolution.default", "args": {{"input": "%{}", "weight": "%w", {}}}, "outputs": ["y"]}}]}})",
      contract, x, type, w, type, y, type, before, of, by));
}

TEST(ConvolutionTest, PatchesAreOneWhateverTheStride) {
  for (const std::string_view type : {"f16", "bf16", "f32"}) {
    const std::string program = Convolved(type, "[8, 3, 224, 224]", "[768, 3, 16, 16]", "[8, 768, 14, 14]",
                                          R"("stride": [16, 16], "padding": [0, 0], "dilation": [1, 1])");
    EXPECT_NE(program.find("y = conv(x, w)"), std::string::npos) << program;
  }
}

// Where no kernel convolves so accurately.
TEST(ConvolutionTest, PatchesOfFloatsThatStayAccurateAreCopiedAndMultiplied) {
  const std::string program =
      Convolved("f32", "[8, 3, 224, 224]", "[768, 3, 16, 16]", "[8, 768, 14, 14]",
                R"("stride": [16, 16], "padding": [0, 0], "dilation": [1, 1])", "x", "", "fp32");
  EXPECT_NE(program.find("y_2 = map(x_view)"), std::string::npos) << program;
  EXPECT_NE(program.find("y: [8, 768, 14, 14] = matmul(w_view, y_2_view)"), std::string::npos) << program;
}

TEST(ConvolutionTest, TokensAreAnImageInRows) {
  const std::string program =
      Convolved("f16", "[2, 1024, 64]", "[64, 64, 8, 8]", "[2, 64, 4, 4]",
                R"("stride": [8, 8], "padding": [0, 0], "dilation": [1, 1])", "image",
                R"({"op": "aten.permute.default", "args": {"self": "%x", "dims": [0, 2, 1]}, "outputs": ["channels"]},
  {"op": "aten.view.default", "args": {"self": "%channels", "size": [2, 64, 32, 32]}, "outputs": ["image"]},)");
  EXPECT_NE(program.find("x: [2, 64, 32, 32] strides [65536, 1, 2048, 64]"), std::string::npos) << program;
  EXPECT_NE(program.find("y = conv(x_view, w)"), std::string::npos) << program;
}

TEST(ConvolutionTest, GroupsOfFloatsMayHaveMoreChannelsThanAStage) {
  const std::string program = Convolved("f32", "[2, 768, 500]", "[768, 48, 128]", "[2, 768, 501]",
                                        R"("stride": [1], "padding": [64], "dilation": [1], "groups": 16)");
  EXPECT_NE(program.find("y = conv(x, w) by"), std::string::npos) << program;
}

// A fold of the same, which reads every pixel and weight again for each result, takes long.
TEST(ConvolutionTest, PatchesThatAreAFoldArePredictedToTakeTheTimeOfTheirProducts) {
  const std::string text =
      "program patches\ninput x: f16[8, 3, 224, 224]\nparam w: f16[768, 3, 16, 16]\noutput y: f16[8, 768, 14, 14]\n"
      "view a = x: [3, 16, 16, 8, 1, 14, 14] strides [50176, 224, 1, 150528, 0, 3584, 16]\n"
      "view b = w: [3, 16, 16, 1, 768, 1, 1] strides [256, 16, 1, 0, 768, 0, 0]\n"
      "y = reduce sum(a * b) over [0, 1, 2]\n";
  const auto device = FindShippedModel("h200");
  ASSERT_TRUE(device);
  const auto checked = dsl::Lower(text, nullptr, *device);
  const auto* kernels = std::get_if<dsl::KernelProgram>(&checked);
  ASSERT_NE(kernels, nullptr) << ToString(std::get<dsl::Complaint>(checked));
  EXPECT_GT(Predict(*kernels, *device), 1e6 * 1.85e9 / device->ceilings.vector_flops_f32);
}

}  // namespace
}  // namespace hone::expert
