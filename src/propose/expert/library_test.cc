// Where the expert calls NVIDIA's libraries: only where they are, in the precision that the contract allows, and where
// nothing of ours is better.
#include <gtest/gtest.h>

#include "dsl/program.h"
#include "propose/expert/pieces.h"
#include "propose/expert/writer.h"

namespace hone::expert {
namespace {

constexpr char kConvolution[] = R"({"hone_problem": 1, "name": "test", "contract": "CONTRACT", "tensors": [
  {"name": "x", "shape": [2, 8, 16, 16], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "w", "shape": [16, 8, 3, 3], "dtype": "f32", "role": "parameter", "generator": {"kind": "uniform", "low": 0, "high": 1}},
  {"name": "y", "shape": [2, 16, 16, 16], "dtype": "f32", "role": "output"}],
 "graph": [{"op": "convolution", "args": {"input": "%x", "weight": "%w", "bias": null, "stride": [1, 1], "padding": [1, 1],
   "dilation": [1, 1], "transposed": false, "output_padding": [0, 0], "groups": 1}, "outputs": ["y"]}]})";

std::string Replaced(std::string text, const std::string& what, const std::string& with) {
  return text.replace(text.find(what), what.size(), with);
}

// The family of the first statement, and its precision if that is set.
std::string Written(const std::string& contract, bool has_cudnn, const std::string& text = kConvolution) {
  const auto problem = ParseProblem(Replaced(text, "CONTRACT", contract), "test");
  EXPECT_TRUE(problem) << problem.error().message;
  const auto graph = Graph::Create(*problem);
  EXPECT_TRUE(graph) << graph.error().message;
  const Memory memory(*graph);
  const dsl::Limits limits{.device = dsl::Device::kCuda, .has_cudnn = has_cudnn};
  const auto program = WriteProgram(memory, Fuse(memory, PiecesOf(memory), {}), limits);
  EXPECT_TRUE(program);
  const dsl::Statement& first = program->statements.at(0);
  const auto precision = first.settings.find("precision");
  return first.family + (precision == first.settings.end() ? "" : " " + dsl::ToString(precision->second));
}

TEST(ExpertLibraryTest, ConvolutionsAreCudnnsWhereItIsInThePrecisionThatTheContractAllows) {
  EXPECT_EQ(Written("torch", true), "conv tf32");
  EXPECT_EQ(Written("tf32", true), "conv tf32");
  EXPECT_EQ(Written("fp32", true), "conv f32");
  EXPECT_EQ(Written("torch", false).find("conv"), std::string::npos);
}

TEST(ExpertLibraryTest, ADepthwiseConvolutionIsOurOwnWithOrWithoutCudnn) {
  std::string depthwise = Replaced(kConvolution, "[16, 8, 3, 3]", "[16, 1, 3, 3]");
  depthwise = Replaced(depthwise, R"("groups": 1)", R"("groups": 8)");
  EXPECT_EQ(Written("torch", true, depthwise), "conv");
  EXPECT_EQ(Written("torch", false, depthwise), "conv");
  const std::string grouped =
      Replaced(Replaced(kConvolution, "[16, 8, 3, 3]", "[16, 2, 3, 3]"), R"("groups": 1)", R"("groups": 4)");
  EXPECT_EQ(Written("torch", true, grouped), "conv tf32");
  EXPECT_EQ(Written("torch", false, grouped).find("conv"), std::string::npos);
}

}  // namespace
}  // namespace hone::expert
