// Reals of 8 bits on CUDA devices: what reads and writes them compiles and computes what the program says. The last is
// skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::KernelProgram;

// Products of scaled operands, and rows, stored in eight bits and read from them.
constexpr std::string_view kPrograms[] = {
    R"(input x: {0}[300, 200]
input w: {0}[136, 200]
input s: f32[300, 1]
input t: f32[1, 136]
output y: bf16[300, 136]
view wt = w: [200, 136] strides [1, 200]
y = matmul(x, wt) with {{precision: simt}} -> it * s * t)",
    R"(input x: {0}[512, 256]
input w: {0}[384, 256]
input s: f32[512, 1]
input t: f32[1, 384]
output y: {0}[512, 384]
view wt = w: [256, 384] strides [1, 256]
y = matmul(x, wt) -> it * s * t)",
    R"(input x: {0}[3, 512]
input w: {0}[384, 512]
output y: {0}[3, 384]
view wt = w: [512, 384] strides [1, 512]
y = matmul(x, wt) with {{precision: dot}} -> it * 0.01)",
    R"(input x: bf16[64, 1000]
output y: {0}[64, 1000]
output z: f32[64, 1000]
y = softmax(x) over [1]
z = nest [i < 64, j < 1000] (y[i, 999 - j] + sum [k < 4] (y[i, k])))",
    R"(input x: {0}[512, 300]
output y: {0}[300, 512]
output z: f32[512]
view xt = x: [300, 512] strides [1, 300]
y = map(xt * 100)
z = reduce sum(x) over [1])",
};

using CudaSmallTypesTest = testing::CudaProgramTest;
using SmallTypesOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(CudaSmallTypesTest, RealsOfEightBitsCompile) {
  for (const auto program : kPrograms) {
    for (const std::string_view type : {"f8e4m3", "f8e5m2"}) {
      const std::string text = fmt::format(fmt::runtime(program), type);
      SCOPED_TRACE(text);
      const auto lowered = Lowered(text);
      ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
      Build(std::get<KernelProgram>(lowered));
    }
  }
}

TEST_F(SmallTypesOnDeviceTest, RealsOfEightBitsAreWhatTheProgramSays) {
  for (const auto program : kPrograms) {
    ExpectWhatItSays(fmt::format(fmt::runtime(program), "f8e4m3"), 0x1p-3);
    ExpectWhatItSays(fmt::format(fmt::runtime(program), "f8e5m2"), 0x1p-2);
  }
}

}  // namespace
}  // namespace hone
