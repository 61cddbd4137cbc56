// Statements that a library computes on a device: the calls that they become, and what is left to a kernel.
#include <gtest/gtest.h>

#include <string>

#include "candidate/plan.h"
#include "dsl/lower.h"
#include "target/shipped_model.h"

namespace hone::dsl {
namespace {

std::variant<KernelProgram, Complaint> Lowered(const std::string& text) {
  return Lower(text, nullptr, TypicalDevice());
}

Plan PlanOf(const std::string& text) {
  const auto lowered = Lowered(text);
  const auto* program = std::get_if<KernelProgram>(&lowered);
  EXPECT_NE(program, nullptr) << ToString(std::get<Complaint>(lowered));
  return program ? EmitCuda(*program) : Plan{};
}

std::string Linear(const std::string& end, const std::string& precision = "library") {
  return "program p\ninput x: f32[4, 64, 128]\nparam w: f32[32, 128]\nparam b: f32[32]\ninput r: f32[4, 64, 32]\n"
         "output y: f32[4, 64, 32]\nview wt = w: [128, 32] strides [1, 128]\ny = matmul(x, wt) with {precision: " +
         precision + "}" + end;
}

TEST(LibraryTest, AProductIsOneCallWithBatchesAsRows) {
  const Plan plan = PlanOf(Linear(""));
  EXPECT_TRUE(plan.sources.empty());
  ASSERT_EQ(plan.steps.size(), 1u);
  const auto& call = std::get<MatmulStep>(plan.steps[0]);
  EXPECT_EQ(call.m, 256);
  EXPECT_EQ(call.n, 32);
  EXPECT_EQ(call.k, 128);
  EXPECT_EQ(call.batch, 1);
  EXPECT_EQ(call.b.strides, (std::array<std::int64_t, 2>{1, 128}));
  EXPECT_EQ(call.compute, LibraryCompute::kF32);
  ASSERT_FALSE(plan.buffers.empty());
  EXPECT_EQ(plan.buffers.back().name, call.workspace);
}

TEST(LibraryTest, BiasResidualAndReluAreTheLibrarys) {
  const auto call = std::get<MatmulStep>(PlanOf(Linear(" -> it + b + r -> relu(it)", "library_tf32")).steps.at(0));
  EXPECT_EQ(call.compute, LibraryCompute::kTf32);
  ASSERT_TRUE(call.bias);
  EXPECT_EQ(call.bias->name, "b");
  ASSERT_TRUE(call.c);
  EXPECT_EQ(call.c->buffer, "r");
  EXPECT_EQ(call.beta, 1);
  EXPECT_EQ(call.activation, Activation::kRelu);
}

TEST(LibraryTest, AnotherEndIsAKernelThatFollows) {
  const Plan plan = PlanOf(Linear(" -> tanh(it + b) * r"));
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_FALSE(std::get<MatmulStep>(plan.steps[0]).bias);
  EXPECT_EQ(std::get<LaunchStep>(plan.steps[1]).arguments.size(), 3u);  // b, r, and y, which it goes over
  EXPECT_EQ(plan.sources.size(), 1u);
}

TEST(LibraryTest, WhatTheLibraryCannotReadIsRefusedInALine) {
  const auto lowered = Lowered(
      "program p\ninput x: f32[64, 128]\ninput w: f32[128, 32]\noutput y: f32[64, 32]\n"
      "y = matmul(relu(x), w) with {precision: library}");
  const auto* complaint = std::get_if<Complaint>(&lowered);
  ASSERT_NE(complaint, nullptr);
  EXPECT_NE(complaint->message.find("cuBLASLt reads both operands where they lie"), std::string::npos)
      << complaint->message;
}

std::string Convolution(const std::string& variant, const std::string& rest) {
  return "program p\ninput x: f32[2, 8, 9, 11]\nparam w: f32[" + std::string(variant.empty() ? "16, 8" : "8, 16") +
         ", 3, 3]\nparam b: f32[16]\noutput y: f32[2, 16, 9, 11]\nview c = b: [16, 1, 1] strides [1, 1, 1]\ny = conv" +
         variant + "(x, w) by {padding: 1}" + rest;
}

TEST(LibraryTest, AConvolutionIsACallWhoseBiasAndReluAreItsOwn) {
  const Plan plan = PlanOf(Convolution("", " with {path: library, precision: tf32} -> relu(it + c)"));
  ASSERT_EQ(plan.steps.size(), 1u);
  const auto& call = std::get<ConvolutionStep>(plan.steps[0]);
  EXPECT_EQ(call.x.shape, (Shape{2, 8, 9, 11}));
  EXPECT_EQ(call.w.shape, (Shape{16, 8, 3, 3}));
  EXPECT_EQ(call.y.strides, (std::vector<std::int64_t>{1584, 99, 11, 1}));
  EXPECT_EQ(call.padding, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(call.compute, LibraryCompute::kTf32);
  ASSERT_TRUE(call.bias);
  EXPECT_EQ(call.activation, Activation::kRelu);
}

TEST(LibraryTest, ATransposedConvolutionEndsInAKernel) {
  const Plan plan = PlanOf(Convolution(" transposed", " -> relu(it + c)"));
  ASSERT_EQ(plan.steps.size(), 2u);
  const auto& call = std::get<ConvolutionStep>(plan.steps[0]);
  EXPECT_TRUE(call.transposed);
  EXPECT_FALSE(call.bias);
  EXPECT_EQ(call.compute, LibraryCompute::kF32);
  EXPECT_EQ(std::get<LaunchStep>(plan.steps[1]).arguments.size(), 2u);
}

TEST(LibraryTest, CallsShareOneWorkspace) {
  const Plan plan = PlanOf(
      "program p\ninput x: f32[64, 64]\noutput y: f32[64, 64]\noutput z: f32[64, 64]\n"
      "y = matmul(x, x) with {precision: library}\nz = matmul(y, x) with {precision: library}");
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.buffers.size(), 1u);
  EXPECT_EQ(std::get<MatmulStep>(plan.steps[0]).workspace, std::get<MatmulStep>(plan.steps[1]).workspace);
}

}  // namespace
}  // namespace hone::dsl
