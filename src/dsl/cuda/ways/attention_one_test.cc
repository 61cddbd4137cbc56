// Attention of one query: every kind of it compiles without spills, alone and split, is chosen where one or two queries
// read the same keys, and computes what the program says. The last is skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::KernelProgram;

// One query a head; two heads that share keys; two queries, keys fewer than warps take; masks of operands and of
// places; an end with operands or the logarithm of the sum, heads beside each other; every width; keys beyond lengths,
// of which some leave nothing.
constexpr std::string_view kPrograms[] = {
    // Scores of which only the largest has a weight, whatever rounding takes from it.
    "input q: TYPE[2, 4, 1, 64]\ninput k: TYPE[2, 4, 1500, 64]\ninput v: TYPE[2, 4, 1500, 64]\n"
    "output y: TYPE[2, 4, 1, 64]\ny = attention(q, k, v) with {SPLIT} let score = it * 1e20",
    "input q: TYPE[2, 4, 1, 128]\ninput k: TYPE[2, 4, 1500, 128]\ninput v: TYPE[2, 4, 1500, 128]\n"
    "output y: TYPE[2, 4, 1, 128]\ny = attention(q, k, v) with {SPLIT} let score = it * 0.088",
    "input q: TYPE[2, 3, 2, 64]\ninput k: TYPE[2, 3, 1000, 64]\ninput v: TYPE[2, 3, 1000, 64]\n"
    "output y: TYPE[2, 3, 2, 1, 64]\nview g = q: [2, 3, 2, 1, 64] strides [384, 128, 64, 64, 1]\n"
    "view s = k: [2, 3, 1, 1000, 64] strides [192000, 64000, 0, 64, 1]\n"
    "view t = v: [2, 3, 1, 1000, 64] strides [192000, 64000, 0, 64, 1]\n"
    "y = attention(g, s, t) with {SPLIT} let score = it * 0.125",
    "input q: TYPE[3, 2, 32]\ninput k: TYPE[3, 5, 32]\ninput v: TYPE[3, 5, 32]\ninput m: f32[3, 2, 5]\n"
    "output y: f32[3, 2, 32]\ny = attention(q, k, v) with {SPLIT} let score = it * 0.177 + m",
    "input q: TYPE[2, 2, 1, 64]\ninput k: TYPE[2, 2, 163, 64]\ninput v: TYPE[2, 2, 163, 64]\n"
    "input m: u8[2, 1, 1, 163]\ninput r: u8[2, 2, 1, 1]\noutput y: TYPE[2, 2, 1, 64]\n"
    "y = attention(q, k, v) by {safe: 1} with {SPLIT} let score = select(m > 40, select(r > 130, it * 0.125, -inf), "
    "-inf)",
    "input q: TYPE[2, 3, 1, 256]\ninput k: TYPE[2, 3, 700, 256]\ninput v: TYPE[2, 3, 700, 256]\ninput r: f32[1, 2, 3, "
    "1]\n"
    "output y: TYPE[2, 1, 768]\ny: [2, 1, 768] = attention(q, k, v) by {heads: 1} with {SPLIT} let score = it * 0.0625 "
    "-> it * 2",
    "input q: TYPE[2, 2, 2, 64]\ninput k: TYPE[2, 2, 163, 64]\ninput v: TYPE[2, 2, 163, 64]\ninput l: i64[2, 1, 1, 1]\n"
    "output y: TYPE[2, 2, 2, 64]\ny = attention(q, k, v) by {safe: 1} with {SPLIT} let score = "
    "select(and(key() < l, key() <= query() + 90), it * 0.125, -inf)",
    "input q: TYPE[3, 2, 64]\ninput k: TYPE[3, 300, 64]\ninput v: TYPE[3, 300, 64]\ninput sink: TYPE[2, 1]\n"
    "input r: u8[3, 2, 1]\noutput y: TYPE[3, 2, 64]\n"
    "y = attention(q, k, v) by {safe: 1} with {SPLIT} let score = select(r > 30, it * 0.125, -inf) -> it * "
    "sigmoid(lse() "
    "- sink)",
    "input q: TYPE[9, 2, 64]\ninput k: TYPE[9, 300, 64]\ninput v: TYPE[9, 300, 64]\ninput l: i32[9, 1, 1]\n"
    "output y: f32[9, 2, 64]\n"
    "y = attention(q, k, v) with {SPLIT} let score = it * 0.125 + select(key() > (l - 3) * 20, -3.4e38, 0)",
    // Scores that are weights themselves, over their sum and not.
    "input q: TYPE[9, 2, 64]\ninput k: TYPE[9, 300, 64]\ninput v: TYPE[9, 300, 64]\ninput l: i32[9, 1, 1]\n"
    "output y: f32[9, 2, 64]\n"
    "y = attention(q, k, v) by {softmax: 0} with {SPLIT} let score = sigmoid(it * 0.125 + real(l))",
    "input q: TYPE[9, 2, 64]\ninput k: TYPE[9, 300, 64]\ninput v: TYPE[9, 300, 64]\ninput l: i32[9, 1, 1]\n"
    "output y: f32[9, 2, 64]\n"
    "y = attention(q, k, v) by {softmax: 0} with {SPLIT} let score = select(key() < (l - 3) * 20, abs(it), 0) -> "
    "it / (total() + 0.001)",
    // Keys in pages: of sequences that share a cache, heads that share keys, beyond lengths; pages of any size, of keys
    // and values in one tensor, counted from the end.
    "input q: TYPE[3, 2, 2, 1, 64]\ninput k: TYPE[40, 16, 2, 64]\ninput v: TYPE[40, 16, 2, 64]\ninput t: u8[3, 20]\n"
    "input l: i64[3, 1, 1, 1, 1]\noutput y: TYPE[3, 2, 2, 1, 64]\n"
    "view kp = k: [1, 2, 1, 40, 16, 64] strides [0, 64, 0, 2048, 128, 1]\n"
    "view vp = v: [1, 2, 1, 40, 16, 64] strides [0, 64, 0, 2048, 128, 1]\n"
    "view at = t: [3, 1, 1, 20] strides [20, 0, 0, 1]\n"
    "y = attention(q, kp, vp, min(at, 39)) by {safe: 1} with {SPLIT} let score = select(key() < l * 20, it * 0.125, "
    "-inf)",
    "input q: TYPE[3, 2, 64]\ninput c: TYPE[2, 30, 7, 64]\ninput t: u8[3, 20]\noutput y: TYPE[3, 2, 64]\n"
    "view k = c: [30, 7, 64] strides [448, 64, 1]\nview v = c: [30, 7, 64] strides [448, 64, 1] offset 13440\n"
    "y = attention(q, k, v, select(t > 9, 29, 5 + t)) with {SPLIT} let score = it * 0.125",
};

std::string Of(std::string_view type, int split, int loads, std::string_view program) {
  std::string text(program);
  for (std::size_t at; (at = text.find("TYPE")) != std::string::npos;) text.replace(at, 4, type);
  text.replace(text.find("SPLIT"), 5, fmt::format("path: one, split: {}, loads: {}", split, loads));
  return text;
}

using OneQueryTest = testing::CudaProgramTest;

TEST_F(OneQueryTest, EveryKindCompilesWithoutSpillsAndASplitOneHasASecondKernel) {
  for (const auto program : kPrograms) {
    for (const auto& [type, split, loads] :
         {std::tuple{"f16", 1, 8}, std::tuple{"bf16", 3, 8}, std::tuple{"bf16", 1, 4}, std::tuple{"f16", 2, 16}}) {
      SCOPED_TRACE(Of(type, split, loads, program));
      const auto lowered = Lowered(Of(type, split, loads, program));
      ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
      const auto built = Build(std::get<KernelProgram>(lowered));
      EXPECT_EQ(built.plan.steps.size(), split == 1 ? 1u : 2u);
      EXPECT_EQ(built.launches.at(0).spill_load_bytes, 0);
    }
  }
}

TEST_F(OneQueryTest, ItIsTheDefaultUpToTwoQueriesOfTheSameKeysAndIsRefusedBeyond) {
  const auto way = [&](std::string_view shape, std::string_view with) {
    const auto lowered =
        Lowered(fmt::format("input q: bf16[{0}, 64]\ninput k: bf16[2, 512, 64]\ninput v: bf16[2, 512, 64]\n"
                            "output y: bf16[{0}, 64]\ny = attention(q, k, v) {1}",
                            shape, with));
    if (const auto* said = std::get_if<dsl::Complaint>(&lowered)) return said->message;
    return WordSetting(std::get<KernelProgram>(lowered).kernels[0], "path");
  };
  EXPECT_EQ(way("2, 1", ""), "one");
  EXPECT_EQ(way("2, 2", ""), "one");
  EXPECT_EQ(way("2, 3", ""), "few");
  EXPECT_EQ(way("2, 3", "with {path: one}"), "'path' one: 3 queries read the same keys, 2 are possible; try few");
}

class OneQueryOnDeviceTest : public testing::ProgramOnDeviceTest,
                             public ::testing::WithParamInterface<std::string_view> {};

TEST_P(OneQueryOnDeviceTest, ItComputesWhatItsProgramSays) {
  for (const int split : {1, 3}) {
    for (const auto& [type, tolerance] : {std::pair{"f16", 0x1p-10}, std::pair{"bf16", 0x1p-7}}) {
      SCOPED_TRACE(Of(type, split, 8, GetParam()));
      ExpectWhatItSays(Of(type, split, 8, GetParam()), tolerance);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Kinds, OneQueryOnDeviceTest, ::testing::ValuesIn(kPrograms));

}  // namespace
}  // namespace hone
