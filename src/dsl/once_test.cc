// What of a program is made once, when its plan is prepared.
#include "dsl/once.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "candidate/plan.h"
#include "dsl/lower.h"
#include "target/shipped_model.h"

namespace hone::dsl {
namespace {

// The plan of w, in f32, as `made`, and of a product that reads that.
Plan PlanOf(std::string_view role, std::string_view made, std::string_view declared = "") {
  const auto lowered = Lower(fmt::format(R"(program p
input x: bf16[512, 256]
{} w: f32[256, 256]
output y: bf16[512, 256]
{}{}
y = matmul(x, b)
)",
                                         role, declared, made),
                             nullptr, TypicalDevice());
  const auto* program = std::get_if<KernelProgram>(&lowered);
  EXPECT_NE(program, nullptr) << ToString(std::get<Complaint>(lowered));
  return program ? EmitCuda(*program) : Plan{};
}

TEST(OnceTest, AParameterIsRoundedWhenThePlanIsPrepared) {
  const Plan plan = PlanOf("param", "b: bf16 = map(w)");
  EXPECT_EQ(plan.prepare.size(), 1u);
  EXPECT_EQ(plan.steps.size(), 1u);
}

TEST(OnceTest, WhatIsComputedOfParametersAloneIsMadeOnceAndPackedOnce) {
  EXPECT_EQ(PlanOf("param", "b: bf16 = map(w * 2)").prepare.size(), 1u);
  EXPECT_EQ(PlanOf("param", "v = map(rsqrt(abs(w) + 1))\nb: bf16 = map(v * w)").prepare.size(), 2u);
  EXPECT_EQ(PlanOf("param", "b: bf16[256, 256] = map(0.5)").prepare.size(), 1u);
  EXPECT_TRUE(PlanOf("input", "b: bf16 = map(w)").prepare.empty());
  EXPECT_EQ(PlanOf("input", "n: bf16[256, 256] = map(0.5)\nb: bf16 = map(n * w)").prepare.size(), 1u);
}

TEST(OnceTest, AnOutputIsMadeOnEveryRun) {
  const Plan plan = PlanOf("param", "b: bf16 = map(w)\n  also kept = it * 2", "output kept: f32[256, 256]\n");
  EXPECT_TRUE(plan.prepare.empty());
  EXPECT_EQ(plan.steps.size(), 2u);
}

// Twice the memory, for good.
TEST(OnceTest, WeightsOfFewBitsStayThat) {
  const auto prepared = [](int rows) {
    const auto lowered = Lower(fmt::format("program p\ninput x: bf16[64, 512]\nparam w: i8[{0}, 512]\n"
                                           "output y: bf16[64, {0}]\nb: bf16 = map(w * 0.1)\n"
                                           "view t = b: [512, {0}] strides [1, 512]\ny = matmul(x, t)\n",
                                           rows),
                               nullptr, TypicalDevice());
    const auto* program = std::get_if<KernelProgram>(&lowered);
    EXPECT_NE(program, nullptr) << ToString(std::get<Complaint>(lowered));
    return program ? EmitCuda(*program).prepare.size() : 0;
  };
  EXPECT_EQ(prepared(8192), 0u);
  EXPECT_EQ(prepared(256), 1u);  // a quarter of a MiB
}

}  // namespace
}  // namespace hone::dsl
