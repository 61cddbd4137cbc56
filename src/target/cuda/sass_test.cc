#include "target/cuda/sass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/files.h"
#include "target/cuda/cubin.h"
#include "target/cuda/nvrtc.h"

namespace hone::cuda {
namespace {

class SassTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto version = NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
    folder_ = std::make_unique<TempDirectory>(*TempDirectory::Create("sass"));
    setenv("HONE_CACHE", folder_->path().c_str(), 1);
  }
  void TearDown() override { unsetenv("HONE_CACHE"); }

  static std::vector<Instruction> CodeOf(const std::string& source, const std::string& arch = "sm_90a") {
    const auto compiled = CompileCubin({.source = source, .arch = arch});
    EXPECT_TRUE(compiled && compiled->ok()) << (compiled ? compiled->log : compiled.error().message);
    auto kernels = ReadCubin(compiled->cubin);
    EXPECT_TRUE(kernels && kernels->size() == 1);
    return std::move(kernels->front().code);
  }
  static auto Count(const std::vector<Instruction>& code, std::string_view name) {
    return std::count_if(code.begin(), code.end(), [&](const Instruction& one) { return one.name == name; });
  }

  std::unique_ptr<TempDirectory> folder_;
};

constexpr const char* kArchitectures[] = {"sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"};

// Behind the end of every kernel stands a branch to itself: a fence that tells how branches are encoded.
TEST_F(SassTest, TheLastBranchOfAKernelGoesToItself) {
  for (const char* arch : kArchitectures) {
    const auto code = CodeOf("extern \"C\" __global__ void f(float* x) { x[threadIdx.x] *= 2; }", arch);
    const auto last = std::find_if(code.rbegin(), code.rend(), [](const auto& one) { return one.name == "BRA"; });
    ASSERT_NE(last, code.rend()) << arch;
    EXPECT_EQ(last->target, static_cast<std::int32_t>(code.rend() - last - 1)) << arch;
    EXPECT_TRUE(LoopsOf(code).empty()) << arch;
  }
}

TEST_F(SassTest, LoopsAreFoundWithTheirDepths) {
  for (const char* arch : kArchitectures) {
    const auto code = CodeOf(R"(
extern "C" __global__ void f(const float* x, float* y, int rows, int columns) {
#pragma unroll 1
  for (int i = 0; i < rows; ++i) {
    float sum = 0;
#pragma unroll 1
    for (int j = 0; j < columns; ++j) sum += x[i * columns + j] * x[j];
    y[i] = sum;
  }
})",
                             arch);
    const auto loops = LoopsOf(code);
    // Rows without columns may have a loop of their own.
    const auto inner_loop = std::find_if(loops.begin(), loops.end(), [](const Loop& loop) { return loop.depth == 2; });
    ASSERT_NE(inner_loop, loops.end()) << arch;
    EXPECT_TRUE(inner_loop->innermost) << arch;
    const auto outer = std::find_if(loops.begin(), loops.end(), [](const Loop& loop) { return !loop.innermost; });
    ASSERT_NE(outer, loops.end()) << arch;
    EXPECT_EQ(outer->depth, 1) << arch;
    EXPECT_TRUE(outer->begin <= inner_loop->begin && inner_loop->end <= outer->end) << arch;
    const std::vector<Instruction> inner(code.begin() + static_cast<std::ptrdiff_t>(inner_loop->begin),
                                         code.begin() + static_cast<std::ptrdiff_t>(inner_loop->end));
    EXPECT_EQ(Count(inner, "LDG"), 2) << arch;
    EXPECT_EQ(Count(inner, "FFMA"), 1) << arch;
    EXPECT_EQ(Count(inner, "STG"), 0) << arch;
  }
}

// A load says which scoreboard it releases, and who uses its value waits for that one.
TEST_F(SassTest, WhatUsesALoadWaitsForItsScoreboard) {
  for (const char* arch : kArchitectures) {
    const auto code =
        CodeOf("extern \"C\" __global__ void f(const float* x, float* y) { *y = x[threadIdx.x] + 1; }", arch);
    const auto load = std::find_if(code.begin(), code.end(), [](const auto& one) { return one.name == "LDG"; });
    const auto sum = std::find_if(code.begin(), code.end(), [](const auto& one) { return one.name == "FADD"; });
    ASSERT_TRUE(load < sum && sum != code.end()) << arch;
    ASSERT_GE(load->announces, 0) << arch;
    EXPECT_TRUE(sum->waits >> load->announces & 1) << arch;
  }
}

// By what stands before `wait` in a kernel.
TEST_F(SassTest, WhoWaitsFirstHasNeitherEndedNorTouchedMemory) {
  const auto waits_first = [&](const std::string& body, const std::string& arch) {
    return WaitsFirst(
        CodeOf("#define WAIT asm volatile(\"griddepcontrol.wait;\" ::: \"memory\")\n"
               "extern \"C\" __global__ void f(const float* x, float* y, int n) {\n"
               "const int i = blockIdx.x * 256 + threadIdx.x;\n" +
                   body + "}",
               arch));
  };
  for (const char* arch : {"sm_90a", "sm_100a", "sm_120a"}) {
    EXPECT_TRUE(waits_first("WAIT; if (i < n) y[i] = x[i];", arch)) << arch;
    EXPECT_TRUE(waits_first("asm volatile(\"griddepcontrol.launch_dependents;\"); WAIT; y[i] = x[i];", arch)) << arch;
    EXPECT_TRUE(waits_first("asm volatile(\"prefetch.global.L2 [%0];\" ::\"l\"(x + i)); WAIT; y[i] = x[i];", arch));
    EXPECT_TRUE(waits_first("if (i < n) { WAIT; y[i] = x[i]; } else { WAIT; }", arch)) << arch;
    EXPECT_TRUE(waits_first("__shared__ int s; if (threadIdx.x == 0) s = n; __syncthreads(); WAIT; y[i] = s;", arch));
    EXPECT_FALSE(waits_first("y[i] = x[i];", arch)) << arch;
    EXPECT_FALSE(waits_first("if (i < n) { WAIT; y[i] = x[i]; }", arch)) << arch;
    EXPECT_FALSE(waits_first("if (i < n) WAIT; y[i] = x[i];", arch)) << arch;
    EXPECT_FALSE(waits_first("const float was = *(volatile float*)(y + i); WAIT; y[i] = was + x[i];", arch)) << arch;
    EXPECT_FALSE(waits_first("y[i] = 1; WAIT; y[i + n] = x[i];", arch)) << arch;
    EXPECT_FALSE(waits_first("atomicAdd(y, 1.0f); WAIT; y[i + n] = x[i];", arch)) << arch;
    EXPECT_FALSE(waits_first("if (i >= n) return; WAIT; y[i] = x[i];", arch)) << arch;
    EXPECT_FALSE(waits_first("for (int k = 0; k < n; ++k) { if (k == 7) WAIT; } y[i] = x[i];", arch)) << arch;
  }
  EXPECT_FALSE(WaitsFirst({}));
}

TEST(SassTextTest, AnyBytesAreDecoded) {
  std::string text(1024, '\0');
  for (unsigned seed = 1; seed < 200; ++seed) {
    unsigned state = seed;
    for (char& c : text) c = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    const auto code = Decode(std::string_view(text).substr(0, 1024 - seed), 90);
    EXPECT_EQ(code.size(), (1024 - seed) / 16);
    for (const Loop& loop : LoopsOf(code)) EXPECT_LE(loop.end, code.size());
  }
}

}  // namespace
}  // namespace hone::cuda
