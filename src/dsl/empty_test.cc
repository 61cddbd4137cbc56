// Results without elements: nothing is written for them, whichever way is named.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "candidate/plan.h"
#include "dsl/lower.h"
#include "target/shipped_model.h"

namespace hone::dsl {
namespace {

constexpr std::string_view kPrograms[] = {
    "input x: bf16[0, 8]\ninput w: bf16[8, 8]\noutput y: bf16[0, 8]\ny = matmul(x, w)",
    "input x: bf16[8, 8]\ninput w: bf16[8, 0]\noutput y: bf16[8, 0]\ny = matmul(x, w)",
    "input x: f32[0, 0, 0]\ninput w: f32[0, 0, 0]\noutput y: f32[0, 0, 0]\ny = matmul(x, w)",
    "input x: bf16[0, 1]\noutput y: bf16[0]\ny = reduce sum(x) over [1]",
    "input x: f32[0, 1]\noutput y: f32[0, 1]\ny = softmax(x) over [1]",
    "input x: f32[0, 1]\noutput y: f32[0, 1]\ny = norm(x) over [1]\n  let m = sum(x) / 8\n  -> x - m",
};

TEST(EmptyTest, NothingIsWrittenForNoElements) {
  for (const auto text : kPrograms) {
    SCOPED_TRACE(text);
    const std::string program = fmt::format("program p\n{}\n", text);
    const auto on_device = Lower(program, nullptr, TypicalDevice());
    ASSERT_TRUE(std::holds_alternative<KernelProgram>(on_device)) << ToString(std::get<Complaint>(on_device));
    EXPECT_TRUE(EmitCuda(std::get<KernelProgram>(on_device)).steps.empty());
    const auto on_processor = Lower(program, nullptr, DeviceModel{});
    ASSERT_TRUE(std::holds_alternative<KernelProgram>(on_processor)) << ToString(std::get<Complaint>(on_processor));
    EXPECT_EQ(EmitCpu(std::get<KernelProgram>(on_processor)).find("y("), std::string::npos);
  }
}

TEST(EmptyTest, ProductsOfNothingHaveNoTensorCores) {
  const auto lowered =
      Lower("program p\ninput x: bf16[8, 0]\ninput w: bf16[0, 8]\noutput y: bf16[8, 8]\ny = matmul(x, w)\n", nullptr,
            TypicalDevice());
  ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<Complaint>(lowered));
  EXPECT_EQ(EmitCuda(std::get<KernelProgram>(lowered)).steps.size(), 1u);
}

TEST(EmptyTest, ProductsOfNothingAreNotMadeInBlocksByAProcessor) {
  DeviceModel machine;
  machine.bf16_pairs = true;
  machine.vector_bytes = 64;
  for (const std::string_view path : {"tile", "pairs"}) {
    const auto lowered = Lower(fmt::format("program p\ninput x: bf16[8, 0]\ninput w: bf16[0, 8]\noutput y: bf16[8, 8]\n"
                                           "y = matmul(x, w) with {{path: {}}}\n",
                                           path),
                               nullptr, machine);
    ASSERT_TRUE(std::holds_alternative<Complaint>(lowered));
    EXPECT_EQ(std::get<Complaint>(lowered).message,
              fmt::format("'path' {}: K is 0: there is nothing to multiply; try stream", path));
  }
}

}  // namespace
}  // namespace hone::dsl
