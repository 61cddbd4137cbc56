#include "report/model_new.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>

#include "base/files.h"
#include "report/reference_text.h"

namespace hone {

extern const std::string_view kPythonCuda;

namespace {

constexpr std::string_view kModel = R"py("""The forward pass of a test."""
import torch
import torch.nn as nn
import torch.nn.functional as F

WIDTH = 64  # try: this

class Scale(nn.Module):
    def __init__(self, width):
        """Only this."""
        super(Scale, self).__init__()
        self.weight = nn.Parameter(torch.rand(width))

    @torch.no_grad()
    def forward(self, x):
        return x * self.weight

class Empty(nn.Module):
    """Nothing but words."""

class Model(nn.Module):
    def __init__(self, width: int = WIDTH):
        super(Model, self).__init__()
        self.scale = Scale(width)
        self.word = "Model # not a comment"
        if width < 0:
            pass

    def forward(self, x: torch.Tensor,
                times: float = 2.0) -> torch.Tensor:
        """Does a pass."""
        def inner(y):
            return F.relu(y)
        return inner(self.scale(x)) * times

    def extra_repr(self):
        return "width"

batch = 128

def get_inputs():
    return [torch.rand(batch, WIDTH), 2.0]

def get_init_inputs():
    return [WIDTH]
)py";

constexpr std::string_view kPlan = R"json({
  "hone_plan": 1, "arch": "sm_90a",
  "sources": [{"name": "scale.cu", "flags": ["-default-device", "--use_fast_math"], "text": [
    "#include <cuda_fp16.h>",
    "struct __align__(64) TensorMap { unsigned long opaque[16]; };",
    "__device__ float Twice(__half x) { return 2 * static_cast<float>(x); }  // '''quotes'''",
    "extern \"C\" __global__ void pack(const float* weight, __half* packed) { packed[threadIdx.x] = weight[threadIdx.x]; }",
    "template <class T, int N>",
    "__global__ void scale(const __grid_constant__ TensorMap map, const T* x, const __half* packed, T* y, double by, int n) {",
    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;",
    "  if (i < n) y[i] = x[i] * Twice(packed[i % N]) * T(by) + T(map.opaque[0] == 0);",
    "}"]}],
  "buffers": [{"name": "packed", "dtype": "f16", "shape": [64]}],
  "prepare": [{"do": "launch", "kernel": "pack", "grid": [1], "block": [64], "arguments": [
    {"kind": "buffer", "name": "scale_weight"}, {"kind": "buffer", "name": "packed"}]}],
  "steps": [
    {"do": "memset", "buffer": "y", "byte": 255},
    {"do": "launch", "kernel": "scale<float, 64>", "grid": [32, 1, 1], "block": [256], "cluster": [2], "shared": 65536,
     "together": 16, "arguments": [
      {"kind": "tensor_map", "buffer": "x", "shape": [128, 64], "strides": [64, 1], "box": [8, 32], "swizzle": 128},
      {"kind": "buffer", "name": "x"}, {"kind": "buffer", "name": "packed", "offset": 0},
      {"kind": "buffer", "name": "y"}, {"kind": "f64", "value": 0.1}, {"kind": "i32", "value": 8192}]}]
})json";

// A convolution with its bias and a product, by the libraries, around a kernel.
constexpr std::string_view kLibraryPlan = R"json({
  "hone_plan": 1, "arch": "sm_90a",
  "sources": [{"name": "half.cu", "text": [
    "#include <cuda_fp16.h>",
    "extern \"C\" __global__ void half_of(const float* x, __half* y) { y[threadIdx.x] = __float2half(x[threadIdx.x]); }"]}],
  "buffers": [{"name": "turned", "dtype": "f32", "shape": [2, 8, 30]}, {"name": "halves", "dtype": "f16", "shape": [480]},
              {"name": "space", "dtype": "u8", "shape": [4096]}],
  "steps": [
    {"do": "cudnn_convolution", "x": {"buffer": "x", "shape": [2, 4, 32], "strides": [128, 32, 1]},
     "w": {"buffer": "weight", "shape": [8, 4, 3], "strides": [12, 3, 1]},
     "y": {"buffer": "turned", "shape": [2, 8, 30], "strides": [240, 30, 1]}, "stride": [1], "padding": [0],
     "dilation": [1], "bias": {"buffer": "bias", "offset": 2}, "compute": "tf32", "activation": "relu", "workspace": "space"},
    {"do": "launch", "kernel": "half_of", "grid": [1], "block": [480], "arguments": [
      {"kind": "buffer", "name": "turned"}, {"kind": "buffer", "name": "halves"}]},
    {"do": "cublaslt_matmul", "m": 16, "n": 8, "k": 30, "a": {"buffer": "halves", "strides": [30, 1]},
     "b": {"buffer": "halves", "offset": 240, "strides": [1, 30]}, "d": {"buffer": "y", "strides": [8, 1]}, "alpha": 0.5}]
})json";

ExportMaterial LibraryMaterial() {
  ExportMaterial material;
  material.problem.name = "convolve";
  material.problem.tensors = {{"x", {2, 4, 32}}, {"weight", {8, 4, 3}}, {"bias", {10}}, {"y", {16, 8}}};
  material.problem.tensors[1].role = material.problem.tensors[2].role = Role::kParameter;
  material.problem.tensors[3].role = Role::kOutput;
  material.plan = kLibraryPlan;
  material.hone_version = "1";
  return material;
}

ExportMaterial Material() {
  ExportMaterial material;
  material.problem.name = "scale";
  material.problem.tensors = {{"x", {128, 64}}, {"scale_weight", {64}}, {"y", {128, 64}}};
  material.problem.tensors[1].role = Role::kParameter;
  material.problem.tensors[2].role = Role::kOutput;
  material.problem.provenance = {{"parameter scale_weight", "scale.weight"}, {"constant arguments", "times = 2.0"}};
  material.plan = kPlan;
  material.model = kModel;
  material.model_name = "scale.py";
  material.hone_version = "1";
  return material;
}

bool Holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// What KernelBench's checker does before it looks for words.
std::string WithoutComments(const std::string& text) {
  return std::regex_replace(text, std::regex("(#|//)[^\n]*"), "");
}

TEST(ModelNewTest, WhatForwardWritesAndKernelsDoNotIsSaid) {
  ExportMaterial material = Material();
  material.problem.provenance["note writes"] = "forward writes into x\nimport os";
  const auto text = ModelNewText(material);
  ASSERT_TRUE(text);
  EXPECT_TRUE(Holds(*text, "\n# forward writes into x import os.\n"));
}

std::string Between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin) + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

TEST(ModelNewTest, ConstructorsStayAndWhatIsComputedGoes) {
  const auto reference = ConstructorOnly(std::string(kModel), "scale.py");
  ASSERT_TRUE(reference) << reference.error().message;
  const std::string text = reference->before + reference->after;
  EXPECT_TRUE(Holds(reference->before, "class ModelNew(nn.Module):\n"));
  EXPECT_TRUE(Holds(reference->before, "super(ModelNew, self).__init__()"));
  EXPECT_TRUE(Holds(reference->before, "self.scale = Scale_(width)"));
  EXPECT_TRUE(Holds(reference->before, "\"Model # not a comment\"")) << "a string was changed";
  EXPECT_TRUE(Holds(reference->before, "        if width < 0:\n            ...\n"));
  EXPECT_TRUE(Holds(reference->before, "class Empty_(nn.Module):\n    ...\n"));
  EXPECT_TRUE(reference->before.ends_with("times: float = 2.0) -> torch.Tensor:\n")) << reference->before;
  EXPECT_TRUE(Holds(reference->after, "def extra_repr(self):"));
  for (const char* gone : {"F.relu", "x * self.weight", "get_inputs", "Only this", "no_grad", "functional"})
    EXPECT_FALSE(Holds(text, gone)) << gone;
  EXPECT_EQ(reference->arguments, (std::vector<std::string>{"x", "times"}));
  EXPECT_EQ(reference->indent, "        ");
}

TEST(ModelNewTest, ModuleWithoutForwardIsRefused) {
  const auto none = ConstructorOnly("import torch\nclass Model(torch.nn.Module):\n    x = 1\n", "m.py");
  ASSERT_FALSE(none);
  EXPECT_TRUE(Holds(none.error().message, "m.py has no class Model")) << none.error().message;
  EXPECT_FALSE(ConstructorOnly("x = 'a\n", "m.py"));
}

TEST(ModelNewTest, EveryStepIsLaunchedAsThePlanSays) {
  const auto text = ModelNewText(Material());
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_TRUE(Holds(*text, "reinterpret_cast<const void*>(&pack), dim3(1, 1, 1), dim3(64, 1, 1), dim3(1, 1, 1), 0,"));
  EXPECT_TRUE(Holds(*text, "dim3(32, 1, 1), dim3(256, 1, 1), dim3(2, 1, 1), 65536, 16,")) << *text;
  EXPECT_TRUE(Holds(*text, "cudaMemsetAsync(reinterpret_cast<void*>(at[2]), 255, 32768, stream)"));
  EXPECT_TRUE(Holds(*text,
                    "MapOf<2>(reinterpret_cast<void*>(at[0]), CU_TENSOR_MAP_DATA_TYPE_FLOAT32, {64, 128}, "
                    "{256, 0}, {32, 8}, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B)"))
      << *text;
  EXPECT_TRUE(Holds(*text, "(\"scale_weight\", \"scale.weight\", None, torch.float32, (64,)),"));
  EXPECT_TRUE(Holds(*text, "return hone_run(self, (x, times), [\"x\", \"times\"])"));
  EXPECT_TRUE(Holds(*text, "hone_constant_arguments = \"times = 2.0\""));
  EXPECT_TRUE(Holds(*text, "\"TORCH_CUDA_ARCH_LIST\"] = \"9.0a\""));
  EXPECT_TRUE(Holds(*text, "--use_fast_math"));
  EXPECT_FALSE(Holds(*text, "-default-device"));
}

TEST(ModelNewTest, NumbersThatTheKernelHasOfBuffersAreLookedAt) {
  ExportMaterial material = Material();
  EXPECT_TRUE(Holds(*ModelNewText(material), "hone_fixed = []\n"));
  material.problem.provenance["fixed layer.shifts"] = "0 4 1 2";
  EXPECT_TRUE(Holds(*ModelNewText(material), "hone_fixed = [\n    (\"layer.shifts\", 0,4,1,2),\n]\n"));
}

// A cache among the arguments, of which it returns another, and a state that the module holds.
ExportMaterial InPlaceMaterial() {
  ExportMaterial material = Material();
  material.problem.tensors.push_back({"state", {64}});
  material.problem.tensors.push_back({"x_after", {128, 64}});
  material.problem.tensors.push_back({"state_after", {64}});
  for (const std::size_t i : {4u, 5u}) material.problem.tensors[i].role = Role::kOutput;
  material.problem.tensors[4].updates = "x";
  material.problem.tensors[5].updates = "state";
  material.problem.provenance["parameter state"] = "scale.state";
  material.problem.provenance["written state_after"] = "self.scale.state";
  return material;
}

TEST(ModelNewTest, WhatIsWrittenInPlaceIsTheModulesOrTheArgument) {
  const ExportMaterial material = InPlaceMaterial();
  const auto text = ModelNewText(material);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_TRUE(Holds(*text,
                    "hone_held = [None, \"scale.state\"]\nhone_updates = [None, 0, 1]\n"
                    "hone_returned = [True, True, False]\n"))
      << *text;
  EXPECT_TRUE(Holds(*ModelNewText(Material()), "hone_held = [None]\nhone_updates = [None]\nhone_returned = [True]\n"));
  ExportMaterial alone = material;
  alone.model.clear();
  const auto by_name = ModelNewText(alone);
  ASSERT_TRUE(by_name);
  EXPECT_TRUE(Holds(*by_name, "def __init__(self, scale_weight, state):")) << *by_name;
  EXPECT_TRUE(Holds(*by_name, "hone_held = [None, \"state\"]\n"));
}

TEST(ModelNewTest, KernelBenchsCheckerFindsNothingForbidden) {
  const auto made = ModelNewText(InPlaceMaterial());
  ASSERT_TRUE(made);
  const std::string text = WithoutComments(*made);
  EXPECT_FALSE(std::regex_search(text, std::regex("\\bpass\\b")));
  EXPECT_FALSE(std::regex_search(text, std::regex("\\btry\\s*:|\\bexcept\\b")));
  EXPECT_FALSE(Holds(text, "torch.nn.functional"));
  EXPECT_TRUE(Holds(text, "__global__"));
  EXPECT_TRUE(Holds(text, "load_inline"));
}

TEST(ModelNewTest, WithoutTheModuleParametersAreGivenByName) {
  ExportMaterial material = Material();
  material.model.clear();
  material.problem.provenance.clear();
  const auto text = ModelNewText(material);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_TRUE(Holds(*text, "def __init__(self, scale_weight):"));
  EXPECT_TRUE(Holds(*text, "(\"scale_weight\", \"scale_weight\", None,"));
}

TEST(ModelNewTest, ParameterOfNeitherModuleNorConstantIsRefused) {
  ExportMaterial material = Material();
  material.problem.provenance.erase("parameter scale_weight");
  EXPECT_FALSE(ModelNewText(material));
  material.problem.tensors[1].generator = Constant{0.5};
  const auto text = ModelNewText(material);
  ASSERT_TRUE(text);
  EXPECT_TRUE(Holds(*text, "(\"scale_weight\", None, float(\"0.5\"), torch.float32, (64,)),"));
}

TEST(ModelNewTest, PythonReadsIt) {
  const auto text = ModelNewText(Material());
  ASSERT_TRUE(text);
  const auto scratch = TempDirectory::Create("model_new");
  ASSERT_TRUE(scratch);
  ASSERT_TRUE(WriteFileAtomically(scratch->path() + "/m.py", *text));
  if (std::system("python3 -c '' 2> /dev/null") != 0) GTEST_SKIP() << "no python3";
  EXPECT_EQ(std::system(("python3 -m py_compile " + scratch->path() + "/m.py").c_str()), 0);
}

TEST(ModelNewTest, ArgumentsThatAreLeftToTheirDefaultsAreNotRefused) {
  if (std::system("python3 -c '' 2> /dev/null") != 0) GTEST_SKIP() << "no python3";
  const auto scratch = TempDirectory::Create("model_new");
  ASSERT_TRUE(scratch);
  const std::string script = "import functools\nimport inspect\nclass torch:\n    class Tensor: ...\n" +
                             std::string(kPythonCuda) +
                             "\ndef forward(self, x, times=2.0, mask=None): ...\n"
                             "names = ['x', 'times', 'mask']\n"
                             "hone_constant_arguments = ''\n"
                             "assert hone_numbers(forward, [torch.Tensor(), 2.0, None], names) == ''\n"
                             "assert hone_numbers(forward, [torch.Tensor(), 3.0, None], names) == 'times = 3.0'\n"
                             "hone_constant_arguments = 'times = 2.0'\n"
                             "assert hone_numbers(forward, [torch.Tensor(), 2.0, None], names) == 'times = 2.0'\n";
  ASSERT_TRUE(WriteFileAtomically(scratch->path() + "/m.py", script));
  EXPECT_EQ(std::system(("python3 " + scratch->path() + "/m.py").c_str()), 0);
}

TEST(ModelNewTest, LibrariesAreCalledAsThePlanSays) {
  const auto text = ModelNewText(LibraryMaterial());
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_TRUE(
      Holds(*text,
            "ConvolutionSpec spec{{hone_library::kF32, {2, 4, 32}, {128, 32, 1}}, {hone_library::kF32, {8, 4, 3}, "
            "{12, 3, 1}}, {hone_library::kF32, {2, 8, 30}, {240, 30, 1}}, {1}, {0}, {1}, 1, false, true, "
            "hone_library::kInTf32, hone_library::kRelu, 0, 4096};"))
      << *text;
  EXPECT_TRUE(Holds(*text, "Opened<hone_library::Cudnn>({\"libcudnn.so.9\"})"));
  // Inputs, parameters, outputs, buffers; a bias from its second element on.
  EXPECT_TRUE(Holds(*text,
                    "ConvolutionMemory{hone_library::Address(at[0]), hone_library::Address(at[1]), "
                    "hone_library::Address(at[4]), hone_library::Address(at[2]) + 8, hone_library::Address(at[6])}"))
      << *text;
  EXPECT_TRUE(
      Holds(*text,
            "MatmulSpec spec{16, 8, 30, 1, {hone_library::kF16, {{30, 1}}, 0}, {hone_library::kF16, {{1, 30}}, 0}, "
            "{hone_library::kF32, {{8, 1}}, 0}, {hone_library::kF32, {{8, 1}}, 0}, false, hone_library::kInF32, "
            "hone_library::kNoEnd, 0x1p-1, 0x0p+0, 0, 0};"))
      << *text;
  EXPECT_FALSE(Holds(*text, "#pragma once"));
}

TEST(ModelNewTest, WithoutALibraryNothingOfThemIsInTheFile) {
  const auto text = ModelNewText(Material());
  ASSERT_TRUE(text);
  EXPECT_FALSE(Holds(*text, "hone_library"));
}

TEST(ModelNewTest, NvccCompilesTheSource) {
  if (std::system("nvcc --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no nvcc";
  for (const ExportMaterial& material : {Material(), LibraryMaterial()}) {
    const auto text = ModelNewText(material);
    ASSERT_TRUE(text);
    const auto scratch = TempDirectory::Create("model_new");
    ASSERT_TRUE(scratch);
    ASSERT_TRUE(WriteFileAtomically(scratch->path() + "/m.cu", Between(*text, "hone_cuda = r'''\n", "'''\n")));
    const std::string command =
        "nvcc -gencode=arch=compute_90a,code=sm_90a -std=c++17 -D__CUDA_NO_HALF_CONVERSIONS__ -c " + scratch->path() +
        "/m.cu -o " + scratch->path() + "/m.o";
    EXPECT_EQ(std::system(command.c_str()), 0) << *text;
  }
}

}  // namespace
}  // namespace hone
