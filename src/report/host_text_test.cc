#include "report/host_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <string>

#include "base/files.h"

namespace hone {

extern const std::string_view kLaunches, kLibraryLaunches, kLibraryCalls;

namespace {

constexpr std::string_view kSteps = R"json({
  "hone_plan": 1, "arch": "sm_90a",
  "sources": [{"name": "a.cu", "text": "extern \"C\" __global__ void pack(const float*, float*) {}"}],
  "buffers": [{"name": "part", "dtype": "f32", "shape": [3]}, {"name": "packed", "dtype": "f16", "shape": [300]},
              {"name": "space", "dtype": "u8", "shape": [4096]}, {"name": "more", "dtype": "f32", "shape": [2]}],
  "prepare": [{"do": "launch", "kernel": "pack", "grid": [1], "block": [64], "arguments": [
    {"kind": "buffer", "name": "weight"}, {"kind": "buffer", "name": "packed"}]}, {"do": "memset", "buffer": "more", "byte": 0}],
  "steps": [
    {"do": "launch", "kernel": "pack", "grid": [4, 2], "block": [64], "cluster": [2], "shared": 65536, "together": 8,
     "arguments": [{"kind": "buffer", "name": "more", "offset": 1}, {"kind": "f64", "value": 0.5}]},
    {"do": "cublaslt_matmul", "m": 16, "n": 8, "k": 30, "a": {"buffer": "x", "strides": [30, 1]},
     "b": {"buffer": "weight", "strides": [1, 30]}, "d": {"buffer": "y", "strides": [8, 1]}, "workspace": "space"},
    {"do": "cudnn_convolution", "x": {"buffer": "x", "shape": [2, 4, 32], "strides": [128, 32, 1]},
     "w": {"buffer": "weight", "shape": [8, 4, 3], "strides": [12, 3, 1]},
     "y": {"buffer": "part", "shape": [2, 8, 30], "strides": [240, 30, 1]}, "stride": [1], "padding": [0],
     "dilation": [1], "compute": "tf32", "workspace": "space"},
    {"do": "launch", "kernel": "pack", "grid": [1], "block": [64], "arguments": [
     {"kind": "tensor_map", "buffer": "part", "shape": [8, 64], "strides": [64, 1], "box": [8, 32], "swizzle": 64},
     {"kind": "tensor_map", "buffer": "part", "shape": [2, 4, 8, 8], "strides": [256, 64, 8, 1], "box": [16, 8],
      "tf32": true, "pixels": {"lower": [-1, -2], "upper": [0, 1], "stride": [1, 2]}}]}]
})json";

Plan ThePlan() { return std::get<Plan>(ParsePlan(kSteps)); }

Problem TheProblem() {
  Problem problem;
  problem.name = "steps";
  problem.tensors = {{"x", {480}}, {"weight", {240}}, {"y", {16, 8}}};
  problem.tensors[1].role = Role::kParameter;
  problem.tensors[2].role = Role::kOutput;
  return problem;
}

CompiledPlan Compiled() {
  return {.cubins = {"\x7f"
                     "ELF"},
          .prepare = {"pack"},
          .launches = {"_Z4packPKfPf", "pack"},
          .early = {false, false, false, true}};
}

bool Holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(HostTextTest, WhatPreparingTouchesIsKeptAndTheRestIsScratch) {
  const BufferPlaces places = PlacesOf(ThePlan());
  EXPECT_EQ(places.kept, (std::vector<bool>{false, true, false, true}));
  EXPECT_EQ(places.begins, (std::vector<std::int64_t>{0, 0, 512, 1024}));  // each at a multiple of 512 bytes
  EXPECT_EQ(places.scratch_bytes, 512 + 4096);
  EXPECT_EQ(places.kept_bytes, 1024 + 512);
}

TEST(HostTextTest, KernelTextLaunchesWhatTheCubinHas) {
  const std::string text = KernelText(ThePlan(), TheProblem(), Compiled());
  EXPECT_TRUE(Holds(text, ".incbin \\\"kernels/0.cubin\\\"")) << text;
  EXPECT_TRUE(Holds(text, R"({"pack", "pack", 0, {1, 1, 1}, {64, 1, 1}, {1, 1, 1}, 0, 1, false},)")) << text;
  EXPECT_TRUE(Holds(text, R"({"pack", "_Z4packPKfPf", 0, {4, 2, 1}, {64, 1, 1}, {2, 1, 1}, 65536, 8, false},)"))
      << text;
  EXPECT_TRUE(Holds(text, R"({"pack", "pack", 0, {1, 1, 1}, {64, 1, 1}, {1, 1, 1}, 0, 1, true},)")) << text;
  EXPECT_TRUE(Holds(text, "Address a0 = kept[0];")) << text;         // the parameter
  EXPECT_TRUE(Holds(text, "Address a0 = kept[1] + 1028;")) << text;  // an element of a kept buffer
  EXPECT_TRUE(Holds(text, "call.Fill(kept[1] + 1024, 0, 8)")) << text;
  EXPECT_TRUE(Holds(text, "call.Map<2>(a0, at[2], 7, {64, 8}, {256, 0}, {32, 8}, 2, 3)")) << text;
  EXPECT_TRUE(Holds(text,
                    "call.Map<4>(a1, at[2], 11, {8, 8, 4, 2}, {32, 256, 1024, 0}, {-2, -1}, {1, 0}, {1, 2, 1, 1}, "
                    "8, 16, 0, 3)"))
      << text;
  EXPECT_TRUE(Holds(text, "hone_library::Address(at[2]) + 512")) << text;  // the workspace
}

TEST(HostTextTest, CompilerTakesKernelTextWithoutAToolkit) {
  if (std::system("g++ --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no g++";
  const auto scratch = TempDirectory::Create("host_text");
  ASSERT_TRUE(scratch);
  const std::string folder = scratch->path() + "/";
  std::string launches(kLibraryLaunches);
  launches = std::regex_replace(launches, std::regex("report/cuda/launches.h"), "hone/launches.h");
  ASSERT_TRUE(WriteFileAtomically(folder + "kernel.cc", KernelText(ThePlan(), TheProblem(), Compiled())));
  ASSERT_TRUE(WriteFileAtomically(folder + "include/hone/launches.h", std::string(kLaunches)));
  ASSERT_TRUE(WriteFileAtomically(folder + "include/hone/library_launches.h", launches));
  ASSERT_TRUE(WriteFileAtomically(folder + "include/hone/library_calls.h", std::string(kLibraryCalls)));
  ASSERT_TRUE(WriteFileAtomically(folder + "kernels/0.cubin", Compiled().cubins[0]));
  EXPECT_EQ(std::system(("cd " + folder + " && g++ -std=c++17 -Wall -Wextra -Werror -O1 -fPIC -shared -I include " +
                         "kernel.cc -o kernel.so")
                            .c_str()),
            0);
}

}  // namespace
}  // namespace hone
