// Attention of f32: every kind of it compiles without spills and fits the device, what it cannot read is refused in a
// line, and it is as accurate as FP32. The last is skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::KernelProgram;

// Whole tiles and what is left of them; the widths that there is room for, also of queries and values that differ;
// heads that share keys, rows that lie apart, one query, one key; scores with operands or places, a mask that leaves
// nothing; an end with operands and the logarithm of the sum, a result of 16 bits, heads side by side; both knobs.
constexpr std::string_view kPrograms[] = {
    // Scores of which only the largest has a weight, whatever rounding takes from it.
    "input q: f32[2, 192, 32]\ninput k: f32[2, 256, 32]\ninput v: f32[2, 256, 32]\noutput y: f32[2, 192, 32]\n"
    "y = attention(q, k, v) let score = it * 1e20",
    "input q: f32[1, 2, 192, 32]\ninput k: f32[1, 2, 256, 32]\ninput v: f32[1, 2, 256, 32]\n"
    "output y: f32[1, 2, 192, 32]\ny = attention(q, k, v) let score = it * 0.17",
    "input q: f32[2, 300, 64]\ninput k: f32[2, 300, 64]\ninput v: f32[2, 300, 64]\noutput y: f32[2, 300, 64]\n"
    "y = attention(q, k, v) by {causal: 1} with {keys: 64, queries: 16, warps: 8} let score = it / 8",
    "input q: f32[3, 77, 96]\ninput k: f32[3, 91, 96]\ninput v: f32[3, 91, 24]\noutput y: f32[3, 77, 24]\n"
    "y = attention(q, k, v) let score = it * 0.1",
    "input q: f32[2, 130, 128]\ninput k: f32[2, 150, 128]\ninput v: f32[2, 150, 128]\noutput y: bf16[2, 130, 128]\n"
    "y = attention(q, k, v) by {causal: 1} with {warps: 3} let score = it * 0.088",
    "input q: f32[3, 1, 16]\ninput k: f32[3, 1, 16]\ninput v: f32[3, 1, 120]\noutput y: f32[3, 1, 120]\n"
    "y = attention(q, k, v)",
    "input x: f32[2, 150, 3, 4, 64]\noutput y: f32[2, 150, 256]\n"
    "view q = x: [2, 4, 150, 64] strides [115200, 64, 768, 1]\n"
    "view k = x: [2, 1, 150, 64] strides [115200, 0, 768, 1] offset 256\n"
    "view v = x: [2, 1, 150, 64] strides [115200, 0, 768, 1] offset 512\n"
    "y: [2, 150, 256] = attention(q, k, v) by {causal: 1, heads: 1} let score = it * 0.125",
    "input q: f32[2, 2, 141, 64]\ninput k: f32[2, 2, 163, 64]\ninput v: f32[2, 2, 163, 64]\n"
    "input m: u8[2, 1, 141, 163]\ninput r: u8[2, 1, 141, 1]\ninput l: f32[2, 2, 141, 1]\noutput y: f32[2, 2, 141, 64]\n"
    "y = attention(q, k, v) by {safe: 1} let score = select(m > 40, select(r > 30, it * 0.125, -inf), -inf) -> it * l",
    "input q: f32[2, 150, 64]\ninput k: f32[2, 150, 64]\ninput v: f32[2, 150, 64]\noutput y: f32[2, 150, 64]\n"
    "y = attention(q, k, v) let score = select(query() - 40 < key(), it * 0.125, -inf)",
    "input q: f32[2, 2, 141, 64]\ninput k: f32[2, 2, 141, 64]\ninput v: f32[2, 2, 141, 64]\ninput r: u8[2, 1, 141, 1]\n"
    "input sink: f32[2, 1, 1]\noutput y: f32[2, 2, 141, 64]\n"
    "y = attention(q, k, v) by {causal: 1, safe: 1} let score = select(r > 30, it * 0.125, -inf) -> it * sigmoid(lse() "
    "- "
    "sink)",
    "input q: f32[2, 150, 32]\ninput k: f32[2, 90, 32]\ninput v: f32[2, 90, 32]\noutput y: f32[2, 150, 32]\n"
    "y = attention(q, k, v) -> it * 0.125 + lse()",
    "input q: f32[2, 150, 32]\ninput k: f32[2, 90, 32]\ninput v: f32[2, 90, 32]\ninput r: u8[2, 150, 1]\n"
    "output y: f32[2, 150, 32]\ny = attention(q, k, v) let score = it * 0.25 + select(r > 30, 0, -3.4e38)",
    "input q: f32[9, 150, 32]\ninput k: f32[9, 290, 32]\ninput v: f32[9, 290, 32]\ninput l: i64[9, 1, 1]\n"
    "output y: f32[9, 150, 32]\ny = attention(q, k, v) by {safe: 1} let score = "
    "select(and(key() < l * 20, query() - key() <= 20), it * 0.25, -inf)",
    // Scores that are weights themselves.
    "input q: f32[2, 300, 64]\ninput k: f32[2, 300, 64]\ninput v: f32[2, 300, 64]\noutput y: f32[2, 300, 64]\n"
    "y = attention(q, k, v) by {causal: 1, softmax: 0} with {queries: 16} let score = relu(it / 8)",
    "input q: f32[2, 2, 141, 64]\ninput k: f32[2, 1, 163, 64]\ninput v: f32[2, 1, 163, 64]\n"
    "input m: f32[2, 1, 141, 163]\noutput y: f32[2, 2, 141, 64]\n"
    "y = attention(q, k, v) by {softmax: 0} let score = sigmoid(it * 0.125 + m)",
    "input q: f32[9, 150, 32]\ninput k: f32[9, 290, 32]\ninput v: f32[9, 290, 32]\ninput l: i64[9, 1, 1]\n"
    "output y: f32[9, 150, 32]\ny = attention(q, k, v) by {softmax: 0} let score = "
    "select(key() < l * 20, square(it), 0) -> it / (total() + 0.001)",
};

using CudaAttentionF32Test = testing::CudaProgramTest;
using AttentionF32OnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(CudaAttentionF32Test, EveryKindIsOneKernelWithoutSpills) {
  for (const auto program : kPrograms) {
    SCOPED_TRACE(program);
    const auto built = BuiltOf(program);
    ASSERT_EQ(built.plan.steps.size(), 1u);
    EXPECT_EQ(built.launches.at(0).spill_load_bytes, 0);
    EXPECT_NE(built.plan.sources[0].text.find("MultiplyTf32("), std::string::npos);
  }
}

TEST_F(CudaAttentionF32Test, WhatItCannotReadIsRefusedInALine) {
  const auto complaint = [&](std::string_view width, std::string_view operand) {
    const auto lowered =
        Lowered(fmt::format("input q: f32[64, {0}]\ninput k: f32[64, {0}]\ninput v: f32[64, 64]\n"
                            "output y: f32[64, 64]\ny = attention({1}, k, v) with {{path: f32}}",
                            width, operand));
    const auto* said = std::get_if<dsl::Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  EXPECT_EQ(complaint("64", "q"), "taken");
  EXPECT_NE(complaint("136", "q").find("a row of q has 136 elements: multiples of 8 up to 128"), std::string::npos);
  EXPECT_NE(complaint("36", "q").find("a row of q has 36 elements"), std::string::npos);
  EXPECT_NE(complaint("64", "q * 2").find("q is an expression"), std::string::npos);
}

// Scores reach a hundred here: FP32 has weights to about 1e-5 then, and one product of TF32 would have them to 5e-2.
TEST_F(AttentionF32OnDeviceTest, ItIsAsAccurateAsF32) {
  for (const auto program : kPrograms) {
    SCOPED_TRACE(program);
    ExpectWhatItSays(program, program.find("bf16") == std::string_view::npos ? 5e-5 : 1e-2);
  }
}

}  // namespace
}  // namespace hone
