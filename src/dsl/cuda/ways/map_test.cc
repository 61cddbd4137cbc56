// Maps that keep to few multiprocessors, and maps of several results: each setting compiles, goes through all elements
// in few blocks, and computes what the program says. The latter is skipped where there is no device.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "dsl/testing/device_program.h"

namespace hone {
namespace {

// Whole parts; a ragged end, element by element; fewer parts than multiprocessors; a broadcast row; halves; several
// packs of a thread of all blocks, from operands of which one is read twice.
constexpr std::string_view kPrograms[] = {
    "input x: f32[1024, 2048]\noutput y: f32[1024, 2048]\ny = map(x * 2) with {multiprocessors: 40}",
    "input x: f32[1001, 777]\noutput y: f32[1001, 777]\ny = map(tanh(x)) with {multiprocessors: 7}",
    "input x: f32[50]\noutput y: f32[50]\ny = map(x + 1) with {multiprocessors: 60}",
    "input x: f32[600, 520]\ninput b: f32[520]\noutput y: f32[600, 520]\ny = map(x + b) with {multiprocessors: 9}",
    "input x: f16[512, 4096]\noutput y: f16[512, 4096]\ny = map(relu(x)) with {multiprocessors: 24, unroll: 1}",
    "input x: f32[512, 1024]\ninput b: f32[1024]\noutput y: f32[512, 1024]\ny = map(x * b + x) with {unroll: 4}",
};

// Several results of what is read once: of other types than the first; an optimizer's step, in the blocks that the
// device has and in few; several packs of a thread; element by element; a result that reads more than the first does,
// of which each varies along one dimension, beside a number; f64.
constexpr std::string_view kStep =
    "input p: bf16[131072]\ninput g: bf16[131072]\ninput m: f32[131072]\ninput v: f32[131072]\n"
    "output w: bf16[131072]\noutput n: f32[131072]\noutput u: f32[131072]\n"
    "w = map(p * 0.99 - 0.01 * (0.9 * m + 0.1 * g) / (sqrt(0.999 * abs(v) + 0.001 * g * g) + 1e-3)){}\n"
    "  also n = 0.9 * m + 0.1 * g\n  also u = 0.999 * abs(v) + 0.001 * g * g";
const std::string kFurther[] = {
    "input x: f32[600, 520]\ninput b: f32[520]\noutput y: f32[600, 520]\noutput z: f16[600, 520]\n"
    "output p: bool[312000]\ny = map(x + b) -> relu(it)\n  also z = it * 0.5\n  also p: [312000] = it > 0.25",
    fmt::format(kStep, ""),
    fmt::format(kStep, " with {multiprocessors: 7}"),
    fmt::format(kStep, " with {unroll: 4}"),
    "input x: f32[512, 1024]\ninput b: f32[1024]\noutput y: f32[512, 1024]\noutput z: f32[512, 1024]\n"
    "y = map(x * b) with {unroll: 4}\n  also z = it + x",
    "input x: f32[101, 77]\noutput y: f32[101, 77]\noutput z: i64[101, 77]\n"
    "y = map(tanh(x))\n  also z = int(x * 100)",
    "input x: f32[40, 1]\ninput b: f32[72]\noutput y: f32[40, 72]\noutput z: f32[40, 72]\noutput n: f32[40, 72]\n"
    "y = map(exp(x))\n  also z = it - b\n  also n = 3",
    "input a: f32[131072]\ninput b: f32[131072]\ninput c: f32[131072]\ninput d: f32[131072]\ninput e: f32[131072]\n"
    "input f: f32[131072]\ninput g: f32[131072]\ninput h: f32[131072]\noutput x: f32[131072]\n"
    "output y: f32[131072]\noutput z: f32[131072]\noutput w: f32[131072]\n"
    "x = map(a + b + c + d + e + f + g + h) with {multiprocessors: 8}\n"
    "  also y = a * b - c * d + e * f - g * h\n  also z = exp(a - h) + tanh(b - g) * c\n  also w = it * 0.5",
    "input x: f64[64, 96]\noutput y: f64[64, 96]\noutput z: f32[64, 96]\ny = map(x * 2)\n  also z = x - 1",
};

using CudaMapTest = testing::CudaProgramTest;
const LaunchStep& LaunchOf(const cuda::BuiltPlan& built) { return std::get<LaunchStep>(built.plan.steps.at(0)); }
using MapOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(CudaMapTest, FewBlocksOfManyThreadsGoThroughAllOfIt) {
  const auto built = BuiltOf(kPrograms[0]);
  ASSERT_EQ(built.launches.size(), 1u);
  EXPECT_EQ(LaunchOf(built).grid[0], 40);
  EXPECT_EQ(LaunchOf(built).block[0], 1024);
  EXPECT_EQ(built.launches[0].spill_load_bytes, 0);
  // The compiler may unroll the loop over parts; each has as many loads under way as several smaller blocks.
  EXPECT_EQ(built.launches[0].instructions.at("LDG.128") % 4, 0);
}

TEST_F(CudaMapTest, AllOfThemCompile) {
  for (const auto text : kPrograms) {
    SCOPED_TRACE(text);
    const auto built = BuiltOf(text);
    ASSERT_EQ(built.launches.size(), 1u);
    EXPECT_EQ(built.launches[0].spill_load_bytes, 0);
  }
  EXPECT_EQ(LaunchOf(BuiltOf(kPrograms[2])).grid[0], 1) << "no block without work";
}

// Compilers leave a load behind the store that stands before it.
TEST_F(CudaMapTest, AllPacksOfAThreadAreLoadedBeforeOneIsStored) {
  const std::string text = BuiltOf(kPrograms[5]).plan.sources.at(0).text;
  const std::size_t stored = text.find("*reinterpret_cast<Pack<float, 4>*>(");
  ASSERT_NE(stored, std::string::npos) << text;
  for (const std::string_view operand : {"t_x + ", "t_b + "}) {
    EXPECT_LT(text.find(operand), stored) << text;
    EXPECT_EQ(text.find(operand), text.rfind(operand)) << "it is loaded once\n" << text;
  }
}

TEST_F(CudaMapTest, FurtherResultsAreOfTheSameKernel) {
  for (const auto& text : kFurther) ExpectLaunchesWithoutSpills(std::string(text), 1);
}

// Bfloat16 by fours, floats by fours.
TEST_F(CudaMapTest, WhatSeveralResultsReadIsLoadedOnce) {
  const auto built = BuiltOf(kFurther[1]);
  ASSERT_EQ(built.launches.size(), 1u);
  EXPECT_EQ(built.launches[0].instructions.at("LDG.64"), 2);
  EXPECT_EQ(built.launches[0].instructions.at("LDG.128"), 2);
  EXPECT_EQ(built.launches[0].instructions.at("STG.64"), 1);
  EXPECT_EQ(built.launches[0].instructions.at("STG.128"), 2);
}

TEST_F(CudaMapTest, WhatSeveralResultsHaveInCommonIsComputedOnce) {
  const std::string text = BuiltOf(kFurther[1]).plan.sources.at(0).text;
  const std::size_t body = text.find("__global__");
  ASSERT_NE(body, std::string::npos) << text;
  for (const std::string_view number : {"0.9f", "0.999f"}) {
    EXPECT_NE(text.find(number, body), std::string::npos) << text;
    EXPECT_EQ(text.find(number, body), text.rfind(number)) << text;
  }
  // Zeros of two signs are two numbers.
  const std::string zeros =
      BuiltOf("input x: f32[64]\noutput y: f32[64]\noutput z: f32[64]\ny = map(max(x, 0.0))\n  also z = max(x, -0.0)")
          .plan.sources.at(0)
          .text;
  EXPECT_NE(zeros.find("-0.0f"), std::string::npos) << zeros;
}

// A rounding of parameters that nothing else is made with.
TEST_F(CudaMapTest, WhatMakesMoreThanARoundingIsNotMadeOnce) {
  const auto built = BuiltOf(
      "param w: f32[64, 96]\noutput y: f32[64, 96]\noutput z: f32[64, 96]\nh: bf16 = map(w)\n  also y = it * 2\n"
      "z = map(h)");
  EXPECT_EQ(built.plan.prepare.size(), 0u);
}

TEST_F(CudaMapTest, WhatIsTurnedIsNotKeptFromMultiprocessors) {
  const auto lowered = Lowered(
      "input x: f32[300, 530]\noutput y: f32[530, 300]\nview v = x: [530, 300] strides [1, 530]\n"
      "y = map(v) with {multiprocessors: 20}");
  const auto* said = std::get_if<dsl::Complaint>(&lowered);
  ASSERT_NE(said, nullptr);
  EXPECT_NE(said->message.find("turned in squares"), std::string::npos) << said->message;
}

TEST_F(CudaMapTest, ATextThatDoesNotAskForItHasNoSuchSetting) {
  const auto lowered = Lowered("input x: f32[64, 96]\noutput y: f32[64, 96]\ny = map(x)");
  const auto* program = std::get_if<dsl::KernelProgram>(&lowered);
  ASSERT_NE(program, nullptr);
  EXPECT_FALSE(program->kernels.at(0).settings.contains("multiprocessors"));
}

TEST_F(MapOnDeviceTest, FurtherResultsAreWhatTheProgramSays) {
  for (const auto& text : kFurther) {
    SCOPED_TRACE(text);
    ExpectWhatItSays(text, text.find("16[") == std::string::npos ? 1e-5 : 1e-2);
  }
}

TEST_F(MapOnDeviceTest, ItComputesWhatItsProgramSays) {
  for (const auto text : kPrograms) {
    SCOPED_TRACE(text);
    ExpectWhatItSays(text);
  }
}

}  // namespace
}  // namespace hone
