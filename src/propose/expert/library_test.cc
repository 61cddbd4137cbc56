// Where the expert calls NVIDIA's libraries: only where they are, in the precision that the contract allows, and where
// nothing of ours is better.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "dsl/family.h"
#include "dsl/lower.h"
#include "dsl/program.h"
#include "propose/expert/expert.h"
#include "propose/expert/pieces.h"
#include "propose/expert/writer.h"
#include "target/shipped_model.h"

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
std::string Written(const std::string& contract, bool has_cudnn, const std::string& text = kConvolution,
                    Products products = Products::kF32) {
  const auto problem = ParseProblem(Replaced(text, "CONTRACT", contract), "test");
  EXPECT_TRUE(problem) << problem.error().message;
  const auto graph = Graph::Create(*problem);
  EXPECT_TRUE(graph) << graph.error().message;
  const Memory memory(*graph);
  DeviceModel device = TypicalDevice();
  device.libraries = {.cublas_lt = true, .cudnn = has_cudnn};
  const auto program = WriteProgram(memory, Fuse(memory, PiecesOf(memory), {}), device, products);
  EXPECT_TRUE(program);
  const dsl::Statement& first = program->statements.at(0);
  const auto precision = first.settings.find("precision");
  return first.family + (precision == first.settings.end() ? "" : " " + dsl::ToString(precision->second));
}

TEST(ExpertLibraryTest, ConvolutionsAreCudnnsOrOurOwnInThePrecisionThatTheContractAllows) {
  EXPECT_EQ(Written("torch", true), "conv tf32");
  EXPECT_EQ(Written("tf32", true), "conv tf32");
  EXPECT_EQ(Written("fp32", true), "conv f32");
  EXPECT_EQ(Written("torch", false), "conv tf32");
  EXPECT_EQ(Written("fp32", false).find("conv"), std::string::npos);
  std::string brain = kConvolution;
  for (int i = 0; i < 3; ++i) brain = Replaced(brain, R"("f32")", R"("bf16")");
  EXPECT_EQ(Written("torch", false, brain), "conv");
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

// PyTorch makes them in TF32 as all its convolutions, its matrix products not.
TEST(ExpertLibraryTest, AConvolutionOfOnePlaceIsAProductThatMayBeInTf32) {
  std::string one = Replaced(kConvolution, "[16, 8, 3, 3]", "[16, 8, 1, 1]");
  one = Replaced(one, R"("padding": [1, 1])", R"("padding": [0, 0])");
  EXPECT_EQ(Written("torch", true, one), "matmul");
  EXPECT_EQ(Written("torch", true, one, Products::kTf32), "matmul library_tf32");
  EXPECT_EQ(Written("tf32", true, one, Products::kTf32), "matmul library_tf32");
  EXPECT_EQ(Written("fp32", true, one, Products::kTf32), "matmul");
  constexpr char kProduct[] = R"({"hone_problem": 1, "name": "test", "contract": "CONTRACT", "tensors": [
    {"name": "x", "shape": [64, 32], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
    {"name": "w", "shape": [32, 64], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
    {"name": "y", "shape": [64, 64], "dtype": "f32", "role": "output"}],
   "graph": [{"op": "mm", "args": {"self": "%x", "mat2": "%w"}, "outputs": ["y"]}]})";
  EXPECT_EQ(Written("torch", true, kProduct, Products::kTf32), "matmul");
  EXPECT_EQ(Written("tf32", true, kProduct, Products::kTf32), "matmul library_tf32");
}

// As PyTorch rounds them: what reads such a value multiplies halves once, and not three times.
TEST(ExpertLibraryTest, ValuesBetweenKernelsHaveTheTypesOfTheGraph) {
  constexpr char kProducts[] = R"({"hone_problem": 1, "name": "test", "contract": "torch", "tensors": [
    {"name": "x", "shape": [512, 256], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
    {"name": "w", "shape": [256, 512], "dtype": "bf16", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
    {"name": "y", "shape": [512, 512], "dtype": "bf16", "role": "output"}],
   "graph": [{"op": "mm", "args": {"self": "%x", "mat2": "%w"}, "outputs": ["h"]},
             {"op": "_to_copy", "args": {"self": "%h", "dtype": "f32"}, "outputs": ["f"]},
             {"op": "sigmoid", "args": {"self": "%f"}, "outputs": ["s"]},
             {"op": "_to_copy", "args": {"self": "%s", "dtype": "bf16"}, "outputs": ["r"]},
             {"op": "mm", "args": {"self": "%r", "mat2": "%h"}, "outputs": ["y"]}]})";
  const auto problem = ParseProblem(kProducts, "test");
  ASSERT_TRUE(problem) << problem.error().message;
  const auto graph = Graph::Create(*problem);
  ASSERT_TRUE(graph) << graph.error().message;
  const Memory memory(*graph);
  for (const DeviceModel& device : {TypicalDevice(), DeviceModel{}}) {
    const auto program = WriteProgram(memory, Fuse(memory, PiecesOf(memory), {}), device, Products::kF32);
    ASSERT_TRUE(program);
    for (const auto& statement : program->statements) {
      if (statement.target == "y") continue;
      EXPECT_EQ(statement.target_type, DType::kBF16) << statement.target;
    }
    const auto lowered = dsl::Lower(dsl::Print(*program), nullptr, device);
    const auto* kernels = std::get_if<dsl::KernelProgram>(&lowered);
    ASSERT_NE(kernels, nullptr) << ToString(std::get<dsl::Complaint>(lowered));
    int products = 0;
    for (const auto& kernel : kernels->kernels) {
      if (kernel.family->name != "matmul") continue;
      ++products;
      if (device.kind == DeviceKind::kCuda) {
        EXPECT_EQ(dsl::ToString(kernel.settings.at("precision")), "bf16");
      }
    }
    EXPECT_EQ(products, 2);
  }
}

// Where tensor cores make them; the search tells which layout is faster.
TEST(ExpertLibraryTest, ConvolutionsAreProposedInBothLayouts) {
  for (const std::string contract : {"torch", "fp32"}) {
    const auto problem = ParseProblem(Replaced(kConvolution, "CONTRACT", contract), "test");
    ASSERT_TRUE(problem) << problem.error().message;
    const auto graph = Graph::Create(*problem);
    ASSERT_TRUE(graph) << graph.error().message;
    DeviceModel device = TypicalDevice();
    device.libraries.cudnn = true;
    const auto round = MakeExpert(*graph, device)->Propose({});
    ASSERT_TRUE(round) << round.error().message;
    std::vector<std::string> origins;
    for (const auto& proposal : round->proposals) {
      const bool last = proposal.candidate.text.find("layout: channels_last") != std::string::npos;
      EXPECT_EQ(last, proposal.origin.find("channels last") != std::string::npos) << proposal.origin;
      origins.push_back(proposal.origin);
    }
    EXPECT_EQ(std::count(origins.begin(), origins.end(), "expert: everything fused, channels last"),
              contract == "torch");
  }
}

TEST(ExpertLibraryTest, ADepthwiseConvolutionOfHalvesIsOurOwn) {
  std::string half = Replaced(kConvolution, "[16, 8, 3, 3]", "[16, 1, 3, 3]");
  half = Replaced(half, R"("groups": 1)", R"("groups": 8)");
  for (int i = 0; i < 3; ++i) half = Replaced(half, R"("f32")", R"("f16")");
  EXPECT_EQ(Written("torch", true, half), "conv");
}

}  // namespace
}  // namespace hone::expert
