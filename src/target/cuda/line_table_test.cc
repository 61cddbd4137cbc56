#include "target/cuda/line_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "target/cuda/cubin.h"
#include "target/cuda/nvrtc.h"

namespace hone::cuda {
namespace {

constexpr const char* kSource = R"(__device__ __forceinline__ float twice(float x) {
  return x * 2 + 1;
}
extern "C" __global__ void sums(const float* a, float* b, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i)
    sum += a[threadIdx.x * n + i];
  b[threadIdx.x] = sum;
}
extern "C" __global__ void doubles(float* b) {
  b[threadIdx.x] = twice(b[threadIdx.x]);
}
)";

class LineTableTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto version = NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
    setenv("HONE_CACHE", folder_.path().c_str(), 1);
  }
  void TearDown() override { unsetenv("HONE_CACHE"); }
  static std::vector<KernelFacts> Compile(std::vector<std::string> flags) {
    const auto compiled =
        CompileCubin({.source = kSource, .name = "k.cu", .arch = "sm_90a", .flags = std::move(flags)});
    EXPECT_TRUE(compiled && compiled->ok()) << (compiled ? compiled->log : compiled.error().message);
    return ReadCubin(compiled->cubin).value();
  }
  static const KernelFacts& Of(const std::vector<KernelFacts>& kernels, std::string_view name) {
    return *std::find_if(kernels.begin(), kernels.end(), [&](const KernelFacts& one) { return one.name == name; });
  }
  // The lines that instructions of this name are of.
  static std::vector<int> LinesOf(const KernelFacts& kernel, std::string_view name) {
    std::vector<int> lines;
    for (std::size_t i = 0; i < kernel.code.size(); ++i) {
      if (kernel.code[i].name == name) lines.push_back(kernel.places[i].line);
    }
    return lines;
  }
  TempDirectory folder_ = TempDirectory::Create("lines").value();
};

TEST_F(LineTableTest, InstructionsAreOfTheLinesThatTheyCameFrom) {
  const auto kernels = Compile({"-lineinfo"});
  ASSERT_EQ(kernels.size(), 2u);
  const KernelFacts& sums = Of(kernels, "sums");
  ASSERT_EQ(sums.places.size(), sums.code.size());
  for (const int line : LinesOf(sums, "LDG")) EXPECT_EQ(line, 7);
  EXPECT_FALSE(LinesOf(sums, "LDG").empty());
  for (const int line : LinesOf(sums, "FADD")) EXPECT_EQ(line, 7);
  EXPECT_EQ(LinesOf(sums, "STG"), std::vector<int>{8});
  EXPECT_TRUE(sums.places[0].file.ends_with("k.cu")) << sums.places[0].file;
  const KernelFacts& doubles = Of(kernels, "doubles");
  EXPECT_EQ(LinesOf(doubles, "FFMA"), std::vector<int>{2}) << "a function that was put in keeps its own line";
  EXPECT_EQ(LinesOf(doubles, "STG"), std::vector<int>{11});
}

TEST_F(LineTableTest, LineNumbersChangeNoInstruction) {
  const auto with = Compile({"-lineinfo"}), without = Compile({});
  for (const KernelFacts& kernel : without) {
    EXPECT_TRUE(kernel.places.empty());
    EXPECT_EQ(kernel.instructions, Of(with, kernel.name).instructions);
    EXPECT_EQ(kernel.code.size(), Of(with, kernel.name).code.size());
  }
}

TEST(LineProgramTest, WhatIsCutShortOrNonsenseHasNoLinesAndEnds) {
  std::string bytes(64, '\xff');
  EXPECT_TRUE(ReadLineTable(bytes, {}).functions.empty());
  bytes = std::string("\x40\0\0\0\x02\0\xff\xff\xff\x7f\x01\x01\xfb\0\x0d", 15);
  EXPECT_TRUE(ReadLineTable(bytes, {}).functions.empty());
  EXPECT_TRUE(ReadLineTable("", {}).functions.empty());
  // A header of nothing, then an extended opcode that is longer than there are bytes in the world.
  bytes = std::string("\x1a\0\0\0\x02\0\x08\0\0\0\x01\x01\xfb\x0e\x01\0\0\0", 18) + '\0' + std::string(9, '\xff') +
          "\x01\x90";
  EXPECT_TRUE(ReadLineTable(bytes, {}).functions.empty());
}

}  // namespace
}  // namespace hone::cuda
