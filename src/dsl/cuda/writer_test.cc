// Plans as a whole: which kernels a program's statements share.
#include "dsl/cuda/writer.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "candidate/plan.h"
#include "dsl/lower.h"
#include "target/shipped_model.h"

namespace hone::dsl {
namespace {

Plan PlanOf(const std::string& statements) {
  const auto lowered =
      Lower("program p\ninput x: f32[64, 96]\ninput v: f32[64, 96]\noutput y: f32[64, 96]\noutput z: f32[64, 96]\n" +
                statements,
            nullptr, TypicalDevice());
  const auto* program = std::get_if<KernelProgram>(&lowered);
  EXPECT_NE(program, nullptr) << ToString(std::get<Complaint>(lowered));
  return program ? EmitCuda(*program) : Plan{};
}

int Kernels(const Plan& plan) { return CountOf(plan.sources.at(0).text, "__global__"); }

std::string Buffer(const LaunchStep& launch, std::size_t argument) {
  return std::get<BufferArgument>(launch.arguments.at(argument)).name;
}

TEST(DeviceWriterTest, LayersOfTheSameTextAreOneKernelWithBuffersOfTheirOwn) {
  const Plan plan = PlanOf("y = softmax(x * 2) over [1]\nz = softmax(v * 2) over [1]\n");
  EXPECT_EQ(Kernels(plan), 1);
  ASSERT_EQ(plan.steps.size(), 2u);
  const auto &first = std::get<LaunchStep>(plan.steps[0]), &second = std::get<LaunchStep>(plan.steps[1]);
  EXPECT_EQ(first.kernel, second.kernel);
  EXPECT_EQ(Buffer(first, 0), "x");
  EXPECT_EQ(Buffer(first, 1), "y");
  EXPECT_EQ(Buffer(second, 0), "v");
  EXPECT_EQ(Buffer(second, 1), "z");
}

TEST(DeviceWriterTest, AnotherConstantOrAnotherFunctionIsAnotherKernel) {
  EXPECT_EQ(Kernels(PlanOf("y = softmax(x * 2) over [1]\nz = softmax(v * 3) over [1]\n")), 2);
  EXPECT_EQ(Kernels(PlanOf("y = map(tanh(x))\nz = map(exp(v))\n")), 2);
}

TEST(DeviceWriterTest, ABufferMayBeCalledWhatAFunctionOfOursIs) {
  const auto lowered =
      Lower("program p\ninput Log: f32[64]\noutput y: f32[64]\ny = map(log(Log))\n", nullptr, TypicalDevice());
  const std::string text = EmitCuda(std::get<KernelProgram>(lowered)).sources.at(0).text;
  EXPECT_EQ(CountOf(text, "__restrict__ t_Log"), 1) << text;
  EXPECT_EQ(CountOf(text, "Log(t_Log"), 1) << text;
}

TEST(DeviceWriterTest, TheOrderInWhichAKernelReadsCounts) {
  EXPECT_EQ(Kernels(PlanOf("y = map(x - v)\nz = map(v - x)\n")), 1);  // the same, with the other buffer first
  EXPECT_EQ(Kernels(PlanOf("y = map(x - v)\nz = map(x - y)\n")), 1);
  EXPECT_EQ(Kernels(PlanOf("y = map(x - v)\nz = map(x - x)\n")), 2);
}

// The places that a convolution reads stand beside its outputs in its space, not in a number.
TEST(DeviceWriterTest, OfAConvolutionPlacesAreCountedInHalfTheBits) {
  const auto lowered = Lower(
      "program p\ninput x: bf16[64, 96, 56, 56]\nparam w: bf16[96, 1, 7, 7]\noutput y: bf16[64, 96, 56, 56]\n"
      "y = conv(x, w) by {padding: 3, groups: 96}\n",
      nullptr, TypicalDevice());
  EXPECT_EQ(CountOf(EmitCuda(std::get<KernelProgram>(lowered)).sources.at(0).text, "const long "), 0);
}

}  // namespace
}  // namespace hone::dsl
