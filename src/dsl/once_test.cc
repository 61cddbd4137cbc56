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
Plan PlanOf(std::string_view role, std::string_view made) {
  const auto lowered = Lower(fmt::format(R"(program p
input x: bf16[512, 256]
{} w: f32[256, 256]
output y: bf16[512, 256]
{}
y = matmul(x, b)
)",
                                         role, made),
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

TEST(OnceTest, WhatIsComputedIsMadeOnEveryRun) {
  EXPECT_TRUE(PlanOf("param", "b: bf16 = map(w * 2)").prepare.empty());
  EXPECT_TRUE(PlanOf("input", "b: bf16 = map(w)").prepare.empty());
}

}  // namespace
}  // namespace hone::dsl
