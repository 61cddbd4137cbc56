// Attention on tensor cores: every kind of it compiles without spills and fits the device, what it cannot read is
// refused in a line, and it computes what the program says. The last is skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "dsl/testing/device_blocks.h"
#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::KernelProgram;

// Both types; whole tiles and what is left of them; other widths of queries than of values, and such that fill no tile;
// heads that share keys, rows that lie apart, one query, one key; scores with operands or places, also of a constant
// each row; masks that leave nothing; an end with operands, results of f32 and of an odd width; more items than
// multiprocessors, which are handed out as they come.
constexpr std::string_view kPrograms[] = {
    // Scores of which only the largest has a weight, whatever rounding takes from it.
    "input q: TYPE[2, 77, 64]\ninput k: TYPE[2, 91, 64]\ninput v: TYPE[2, 91, 64]\noutput y: TYPE[2, 77, 64]\n"
    "y = attention(q, k, v) let score = it * 1e20",
    "input q: TYPE[1, 2, 192, 128]\ninput k: TYPE[1, 2, 256, 128]\ninput v: TYPE[1, 2, 256, 128]\n"
    "output y: TYPE[1, 2, 192, 128]\ny = attention(q, k, v) let score = it * 0.088",
    "input q: TYPE[2, 300, 64]\ninput k: TYPE[2, 300, 64]\ninput v: TYPE[2, 300, 64]\noutput y: TYPE[2, 300, 64]\n"
    "y = attention(q, k, v) by {causal: 1} let score = it / 8",
    "input q: TYPE[2, 300, 64]\ninput k: TYPE[2, 331, 64]\ninput v: TYPE[2, 331, 64]\noutput y: f32[2, 300, 64]\n"
    "y = attention(q, k, v) by {causal: 1} with {tile: 128x144, stages: 3, ahead: 1}",
    "input q: TYPE[1, 150, 256]\ninput k: TYPE[1, 173, 256]\ninput v: TYPE[1, 173, 256]\noutput y: TYPE[1, 150, 256]\n"
    "y = attention(q, k, v) by {causal: 1} let score = it * 0.0625",
    "input q: TYPE[3, 77, 80]\ninput k: TYPE[3, 91, 80]\ninput v: TYPE[3, 91, 24]\noutput y: TYPE[3, 77, 24]\n"
    "y = attention(q, k, v) let score = it * 0.1",
    "input q: TYPE[3, 130, 16]\ninput k: TYPE[3, 1, 16]\ninput v: TYPE[3, 1, 192]\noutput y: TYPE[3, 130, 192]\n"
    "y = attention(q, k, v)",
    "input q: TYPE[2, 8, 100, 64]\ninput k: TYPE[2, 2, 100, 64]\ninput v: TYPE[2, 2, 100, 64]\n"
    "output y: TYPE[2, 8, 100, 64]\nview g = q: [2, 2, 4, 100, 64] strides [51200, 25600, 6400, 64, 1]\n"
    "view s = k: [2, 2, 1, 100, 64] strides [12800, 6400, 0, 64, 1]\n"
    "view t = v: [2, 2, 1, 100, 64] strides [12800, 6400, 0, 64, 1]\n"
    "y: [2, 8, 100, 64] = attention(g, s, t) by {causal: 1} let score = it * 0.125",
    "input x: TYPE[2, 150, 3, 4, 64]\noutput y: TYPE[2, 4, 150, 64]\n"
    "view q = x: [2, 4, 150, 64] strides [115200, 64, 768, 1]\n"
    "view k = x: [2, 4, 150, 64] strides [115200, 64, 768, 1] offset 256\n"
    "view v = x: [2, 4, 150, 64] strides [115200, 64, 768, 1] offset 512\n"
    "y = attention(q, k, v) let score = it * 0.125",
    "input q: TYPE[2, 4, 1, 64]\ninput k: TYPE[2, 4, 500, 64]\ninput v: TYPE[2, 4, 500, 64]\n"
    "output y: TYPE[2, 4, 1, 64]\ny = attention(q, k, v) with {path: tiles} let score = it * 0.125",
    "input q: TYPE[2, 2, 141, 64]\ninput k: TYPE[2, 2, 163, 64]\ninput v: TYPE[2, 2, 163, 64]\n"
    "input m: f32[2, 1, 141, 163]\ninput l: TYPE[2, 2, 141, 1]\noutput y: TYPE[2, 2, 141, 64]\n"
    "y = attention(q, k, v) let score = it * 0.125 + m * l",
    "input q: TYPE[2, 2, 256, 64]\ninput k: TYPE[2, 2, 163, 64]\ninput v: TYPE[2, 2, 163, 64]\n"
    "input m: u8[2, 1, 256, 163]\ninput r: u8[2, 1, 256, 1]\noutput y: TYPE[2, 2, 256, 64]\n"
    "y = attention(q, k, v) by {safe: 1} let score = select(m > 40, select(r > 30, it * 0.125, -inf), -inf)",
    // Masks whose pairs are read while products are made: of each query and of all, with keys and queries left over.
    "input q: TYPE[2, 2, 141, 64]\ninput k: TYPE[2, 2, 164, 64]\ninput v: TYPE[2, 2, 164, 64]\n"
    "input m: TYPE[2, 1, 141, 164]\ninput p: u8[2, 1, 1, 164]\noutput y: TYPE[2, 2, 141, 64]\n"
    "y = attention(q, k, v) let score = select(p > 20, it + m, -inf) * 0.125",
    "input q: TYPE[2, 2, 300, 64]\ninput k: TYPE[2, 2, 300, 64]\ninput v: TYPE[2, 2, 300, 64]\n"
    "input m: f32[1, 1, 300, 300]\ninput p: u8[2, 1, 1, 302]\noutput y: TYPE[2, 2, 300, 64]\n"
    "view r = p: [2, 1, 1, 300] strides [302, 302, 302, 1] offset 2\n"
    "y = attention(q, k, v) by {causal: 1, safe: 1} with {tile: 64x64} let score = select(r > 20, it * 0.125, -inf) + "
    "m",
    "input q: TYPE[4, 70, 64]\ninput k: TYPE[4, 70, 64]\ninput v: TYPE[4, 70, 40]\ninput r: f32[4, 70, 1]\n"
    "output y: f32[4, 70, 33]\nview w = v: [4, 70, 33] strides [2800, 40, 1]\n"
    "y = attention(q, k, w) with {tile: 64x80, ahead: 2} let score = -it -> it * 2 + r",
    "input q: TYPE[70, 150, 8]\ninput k: TYPE[70, 150, 8]\ninput v: TYPE[70, 150, 8]\noutput y: f32[70, 150, 8]\n"
    "y = attention(q, k, v) by {causal: 1} with {tile: 128x64} let score = it * 0.25",
    "input q: TYPE[2, 2, 3, 100, 64]\ninput k: TYPE[2, 2, 1, 100, 64]\ninput v: TYPE[2, 2, 1, 100, 64]\n"
    "input r: TYPE[100, 1, 3, 1]\noutput y: TYPE[2, 100, 384]\n"
    "y: [2, 100, 384] = attention(q, k, v) by {causal: 1, heads: 2} let score = it * 0.125 -> it + r",
    "input q: TYPE[2, 150, 64]\ninput k: TYPE[2, 150, 64]\ninput v: TYPE[2, 150, 64]\noutput y: f32[2, 150, 64]\n"
    "y = attention(q, k, v) by {causal: 1} let score = select(query() - 40 < key(), it * 0.125, -inf)",
    // The logarithm of a row's sum: of causal rows, of a window, of rows that see nothing, of a score that is negated.
    "input q: TYPE[2, 4, 300, 64]\ninput k: TYPE[2, 2, 300, 64]\ninput v: TYPE[2, 2, 300, 64]\ninput r: TYPE[4, 1, 1]\n"
    "output y: TYPE[2, 4, 300, 64]\nview g = q: [2, 2, 2, 300, 64] strides [76800, 38400, 19200, 64, 1]\n"
    "view s = k: [2, 2, 1, 300, 64] strides [38400, 19200, 0, 64, 1]\n"
    "view t = v: [2, 2, 1, 300, 64] strides [38400, 19200, 0, 64, 1]\nview sink = r: [2, 2, 1, 1] strides [2, 1, 1, "
    "1]\n"
    "y: [2, 4, 300, 64] = attention(g, s, t) by {causal: 1, safe: 1} let score = it * 0.125 -> it * sigmoid(lse() - "
    "sink)",
    "input q: TYPE[2, 2, 141, 128]\ninput k: TYPE[2, 2, 141, 128]\ninput v: TYPE[2, 2, 141, 128]\n"
    "input r: u8[2, 1, 141, 1]\ninput sink: f32[2, 1, 1]\noutput y: f32[2, 2, 141, 128]\n"
    "y = attention(q, k, v) by {causal: 1, safe: 1} let score = select(query() - key() < 40, select(r > 30, it * "
    "0.088, "
    "-inf), -inf) -> it * sigmoid(lse() - sink)",
    "input q: TYPE[2, 150, 64]\ninput k: TYPE[2, 90, 64]\ninput v: TYPE[2, 90, 64]\noutput y: f32[2, 150, 64]\n"
    "y = attention(q, k, v) let score = -it -> it * 0.125 + lse()",
    // Keys that conditions on places hide and that are not read: beyond lengths, of which some leave nothing; before
    // and behind windows, causal and not, that depend on data; beyond lengths, by a number, of which some leave
    // nothing.
    "input q: TYPE[40, 2, 300, 64]\ninput k: TYPE[40, 2, 300, 64]\ninput v: TYPE[40, 2, 300, 64]\n"
    "input l: i64[40, 1, 1, 1]\noutput y: TYPE[40, 2, 300, 64]\n"
    "y = attention(q, k, v) by {safe: 1} with {tile: 128x64} let score = select(key() < (l - 3) * 20, it * 0.125, "
    "-inf)",
    "input q: TYPE[2, 2, 500, 64]\ninput k: TYPE[2, 2, 700, 64]\ninput v: TYPE[2, 2, 700, 64]\n"
    "output y: f32[2, 2, 500, 64]\ny = attention(q, k, v) with {tile: 64x64} let score = "
    "select(and(key() - query() >= -40, not(query() <= key() - 90)), it * 0.125, -inf)",
    "input q: TYPE[4, 600, 64]\ninput k: TYPE[4, 600, 64]\ninput v: TYPE[4, 600, 64]\ninput l: i32[4, 1, 1]\n"
    "output y: f32[4, 600, 64]\ny = attention(q, k, v) by {causal: 1, safe: 1} with {tile: 128x64} let score = "
    "select(query() - key() <= l * 9, it * 0.125, -inf)",
    // A window to both sides, of which some tiles are seen whole; unequal ones, by lengths beside a mask.
    "input q: TYPE[4, 600, 64]\ninput k: TYPE[4, 600, 64]\ninput v: TYPE[4, 600, 64]\noutput y: TYPE[4, 600, 64]\n"
    "y = attention(q, k, v) by {safe: 1} with {tile: 128x64} let score = "
    "select(abs(query() - key()) <= 150, it * 0.125, -inf)",
    "input q: TYPE[40, 2, 250, 64]\ninput k: TYPE[40, 2, 330, 64]\ninput v: TYPE[40, 2, 330, 64]\n"
    "input l: i64[40, 1, 1, 1]\ninput p: u8[330]\noutput y: f32[40, 2, 250, 64]\n"
    "y = attention(q, k, v) by {safe: 1} with {tile: 64x64} let score = select(p > 9, it, -inf) + "
    "select(and(max(query() - key(), 2 * l - query()) < 70, key() < 100 - query()), 0, -inf)",
    "input q: TYPE[30, 70, 64]\ninput k: TYPE[30, 400, 64]\ninput v: TYPE[30, 400, 64]\ninput l: i64[30, 1, 1]\n"
    "output y: f32[30, 70, 64]\n"
    "y = attention(q, k, v) let score = it * 0.125 + select((l - 3) * 20 <= key(), -3.4e38, 0)",
    // Masks of windows whose rows lie at odd places, of heads and of batches.
    "input q: TYPE[3, 4, 2, 49, 32]\ninput k: TYPE[3, 4, 2, 49, 32]\ninput v: TYPE[3, 4, 2, 49, 32]\n"
    "input m: TYPE[4, 1, 49, 49]\ninput b: TYPE[2, 49, 49]\noutput y: TYPE[3, 4, 49, 64]\n"
    "y: [3, 4, 49, 64] = attention(q, k, v) by {heads: 1} let score = it * 0.177 + b + m",
    // Scores that are weights themselves: causal ones, with keys left over and heads that share keys; of a window, of a
    // mask and of decays that are read or made; over their sum, beyond lengths of which some leave nothing; wide ones.
    "input q: TYPE[2, 300, 64]\ninput k: TYPE[2, 300, 64]\ninput v: TYPE[2, 300, 64]\noutput y: TYPE[2, 300, 64]\n"
    "y = attention(q, k, v) by {causal: 1, softmax: 0} let score = relu(it * 0.01)",
    "input q: TYPE[2, 2, 3, 100, 64]\ninput k: TYPE[2, 2, 1, 131, 64]\ninput v: TYPE[2, 2, 1, 131, 64]\n"
    "input b: f32[2, 1, 1, 1]\noutput y: TYPE[2, 100, 384]\n"
    "y: [2, 100, 384] = attention(q, k, v) by {heads: 2, softmax: 0} let score = sigmoid(it * 0.125 + b)",
    "input q: TYPE[4, 300, 64]\ninput k: TYPE[4, 300, 64]\ninput v: TYPE[4, 300, 128]\noutput y: f32[4, 300, 128]\n"
    "y = attention(q, k, v) by {causal: 1, softmax: 0} with {tile: 128x64} let score = "
    "it * 0.05 * exp(real(key() - query()) * 0.03)",
    "input q: TYPE[2, 2, 141, 64]\ninput k: TYPE[2, 2, 164, 64]\ninput v: TYPE[2, 2, 164, 64]\n"
    "input m: TYPE[2, 1, 141, 164]\ninput p: u8[2, 1, 1, 164]\noutput y: TYPE[2, 2, 141, 64]\n"
    "y = attention(q, k, v) by {softmax: 0} let score = select(p > 20, it * m * 0.05, 0)",
    "input q: TYPE[2, 2, 500, 64]\ninput k: TYPE[2, 2, 700, 64]\ninput v: TYPE[2, 2, 700, 64]\n"
    "output y: f32[2, 2, 500, 64]\ny = attention(q, k, v) by {softmax: 0} with {tile: 64x64} let score = "
    "square(relu(select(and(key() - query() >= -40, not(query() <= key() - 90)), it * 0.05, -inf)))",
    "input q: TYPE[40, 2, 300, 64]\ninput k: TYPE[40, 2, 300, 64]\ninput v: TYPE[40, 2, 300, 64]\n"
    "input l: i64[40, 1, 1, 1]\noutput y: TYPE[40, 2, 300, 64]\n"
    "y = attention(q, k, v) by {softmax: 0} with {tile: 128x64} let score = select(key() < (l - 3) * 20, abs(it), 0) "
    "-> "
    "it / (total() + 0.001)",
    "input q: TYPE[1, 150, 256]\ninput k: TYPE[1, 173, 256]\ninput v: TYPE[1, 173, 256]\noutput y: TYPE[1, 150, 256]\n"
    "y = attention(q, k, v) by {causal: 1, softmax: 0} let score = it * 0.0625",
};

std::string Of(std::string_view type, std::string_view program) {
  std::string text(program);
  for (std::size_t at; (at = text.find("TYPE")) != std::string::npos;) text.replace(at, 4, type);
  return text;
}

using CudaAttentionTest = testing::CudaProgramTest;
using AttentionOnDeviceTest = testing::ProgramOnDeviceTest;
using AttentionOnHostTest = dsl::testing::DeviceBlocksTest;

TEST_F(CudaAttentionTest, EveryKindCompilesAndFitsWithoutSpills) {
  for (const auto program : kPrograms) {
    for (const auto type : {"f16", "bf16"}) {
      SCOPED_TRACE(Of(type, program));
      const auto lowered = Lowered(Of(type, program));
      ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
      const auto built = Build(std::get<KernelProgram>(lowered));
      EXPECT_EQ(built.plan.steps.size(), 1u);
      EXPECT_EQ(built.launches.at(0).spill_load_bytes, 0);
    }
  }
}

// Batches, heads and units of a mask whose keys lie a unit apart: of three dimensions, one goes along another, the
// steps of which are longer or shorter.
TEST_F(AttentionOnHostTest, BatchesMayLieUnevenlyInThreeDimensions) {
  for (const char* batches : {"4608, 16, 64", "16, 4608, 64"}) {
    ExpectBlocksSay(
        fmt::format(
            "input q: bf16[2, 2, 3, 20, 16]\ninput kv: bf16[2, 24, 3, 2, 2, 16]\noutput y: f32[2, 2, 3, 20, 16]\n"
            "view k = kv: [2, 2, 3, 24, 16] strides [{0}, 192, 1]\n"
            "view v = kv: [2, 2, 3, 24, 16] strides [{0}, 192, 1] offset 32\n"
            "y = attention(q, k, v) with {{path: tiles, tile: 64x16}} let score = it * 0.25",
            batches),
        0x1p-7);
  }
  ExpectBlocksSay(
      "input q: bf16[3, 2, 2, 20, 16]\ninput kv: bf16[3, 24, 2, 2, 2, 16]\noutput y: f32[3, 2, 2, 20, 16]\n"
      "view k = kv: [3, 2, 2, 24, 16] strides [3072, 64, 16, 128, 1]\n"
      "view v = kv: [3, 2, 2, 24, 16] strides [3072, 64, 16, 128, 1] offset 32\n"
      "y = attention(q, k, v) with {path: tiles, tile: 64x16} let score = it * 0.25",
      0x1p-7);
}

// Of few items, which are known before. Windows to either side and to both, beside a causal one, of unequal tiles; rows
// and keys are left over; some tiles are seen whole, some rows see nothing; lengths by the number that hides.
TEST_F(AttentionOnHostTest, WindowsShowWhatTheySay) {
  const auto expect = [&](int rows, int keys, std::string_view by, std::string_view with, std::string_view score) {
    ExpectBlocksSay(fmt::format("input q: bf16[2, {0}, 16]\ninput k: bf16[2, {1}, 16]\ninput v: bf16[2, {1}, 16]\n"
                                "input l: i64[2, 1, 1]\noutput y: f32[2, {0}, 16]\n"
                                "y = attention(q, k, v) by {{{2}}} with {{path: tiles, {3}}} let score = {4}",
                                rows, keys, by, with, score),
                    0x1p-7);
  };
  expect(150, 150, "safe: 1", "tile: 64x16", "select(abs(query() - key()) <= 40, it * 0.25, -inf)");
  expect(150, 170, "safe: 1", "tile: 128x32", "it + select(and(query() - key() < 60, key() - query() < 9), 0, -inf)");
  expect(150, 150, "causal: 1, safe: 1", "tile: 128x16", "select(query() - key() < 90, it, -inf)");
  expect(150, 90, "safe: 1", "tile: 64x32", "select(abs(query() - key()) < 3, it, -inf)");
  expect(70, 150, "safe: 1", "tile: 64x48", "select(max(key() - l, 30 - key() - query()) <= 0, it, -inf)");
  expect(70, 150, "safe: 1", "tile: 64x48", "select(key() < (l - 3) * 20, it, -1e38)");
  expect(150, 150, "softmax: 0", "tile: 64x32", "select(abs(query() - key()) > 50, 0, it * 0.05)");
}

TEST_F(CudaAttentionTest, MasksAreReadAheadInPairsWhereTheyLieSoAndRegistersHoldThem) {
  const auto reads = [&](std::string_view type, int keys, std::string_view tile) {
    const auto built = BuiltOf(
        fmt::format("input q: f16[128, 64]\ninput k: f16[{1}, 64]\ninput v: f16[{1}, 64]\ninput m: {0}[128, {1}]\n"
                    "output y: f16[128, 64]\ny = attention(q, k, v) with {{tile: {2}}} let score = it * 0.125 + m",
                    type, keys, tile));
    const std::string& text = built.plan.sources.at(0).text;
    if (text.find("looked.pairs0") == std::string::npos) return "late";
    return text.find("= reinterpret_cast<const Pack") != std::string::npos ? "as one" : "apart";
  };
  EXPECT_STREQ(reads("f16", 256, "128x128"), "as one");
  EXPECT_STREQ(reads("f32", 256, "128x64"), "as one");
  EXPECT_STREQ(reads("f32", 256, "128x128"), "late");   // 64 of the thread's scores, in 64 registers
  EXPECT_STREQ(reads("f16", 255, "128x128"), "apart");  // every second row begins within a pair
}

TEST_F(CudaAttentionTest, TilesWithinAWindowAreNotTestedAndOthersInWholeNumbersOf32Bits) {
  const auto built = BuiltOf(
      "input q: f16[600, 64]\ninput k: f16[600, 64]\ninput v: f16[600, 64]\noutput y: f16[600, 64]\n"
      "y = attention(q, k, v) with {tile: 64x64} let score = select(abs(query() - key()) <= 90, it * 0.125, -inf)");
  const std::string& text = built.plan.sources.at(0).text;
  const auto inside = text.find("const auto inside ="), attend = text.find("block.Attend(", inside);
  ASSERT_NE(attend, std::string::npos);
  EXPECT_EQ(text.substr(inside, attend - inside).find("scores[i]"), std::string::npos) << "of whole tiles";
  EXPECT_NE(text.find("n >= own_from[i / 2 % 2] && n < own_end[i / 2 % 2]"), std::string::npos);
  EXPECT_EQ(text.find("llabs"), std::string::npos);
}

TEST_F(CudaAttentionTest, WindowsAreOfTilesThatHoldLittleElse) {
  const auto tile = [&](std::string_view score) {
    const auto lowered = Lowered(
        fmt::format("input q: f16[16, 12, 2048, 64]\ninput k: f16[16, 12, 2048, 64]\ninput v: f16[16, 12, 2048, 64]\n"
                    "output y: f16[16, 12, 2048, 64]\ny = attention(q, k, v) with {{path: tiles}} let score = {}",
                    score));
    const auto& kernel = std::get<KernelProgram>(lowered).kernels.at(0);
    return std::get<std::vector<std::int64_t>>(kernel.settings.at("tile").value);
  };
  EXPECT_EQ(tile("it * 0.125"), (std::vector<std::int64_t>{192, 128}));
  EXPECT_EQ(tile("select(abs(query() - key()) <= 64, it * 0.125, -inf)"), (std::vector<std::int64_t>{64, 128}));
}

TEST_F(CudaAttentionTest, WhatTheCopyEngineOrTheRegistersCannotHoldIsRefusedInALine) {
  const auto complaint = [&](std::string_view declarations, std::string_view with = "tile: 128x128") {
    const auto lowered =
        Lowered(fmt::format("{}\noutput y: f32[4, 64, 64]\ny = attention(q, k, v) with {{{}}}", declarations, with));
    const auto* said = std::get_if<dsl::Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  const std::string_view right = "input q: f16[4, 64, 64]\ninput k: f16[4, 64, 64]\ninput v: f16[4, 64, 64]";
  EXPECT_EQ(complaint(right), "taken");
  EXPECT_EQ(
      complaint("input q: f32[4, 64, 64]\ninput k: f16[4, 64, 64]\ninput v: f16[4, 64, 64]"),
      "'attention' has no kernel for this: k is f16: this kernel is for f32; q is f32: this kernel is for f16 and "
      "bf16");
  EXPECT_EQ(complaint("input q: f16[4, 64, 64]\ninput k: bf16[4, 64, 64]\ninput v: f16[4, 64, 64]"),
            "'attention' has no kernel for this: q is f16: this kernel is for f32; q, k and v are of different types: "
            "convert them before");
  EXPECT_EQ(complaint("input q: f16[4, 64, 4]\ninput k: f16[4, 64, 4]\ninput v: f16[4, 64, 64]"),
            "'attention' has no kernel for this: q is f16: this kernel is for f32; rows of q do not begin at multiples "
            "of 16 bytes: write it as a value of "
            "its own before");
  EXPECT_EQ(complaint("input q: f16[4, 64, 264]\ninput k: f16[4, 64, 264]\ninput v: f16[4, 64, 64]"),
            "'attention' has no kernel for this: q is f16: this kernel is for f32; 64 queries a head are not few; "
            "values of 72 to 512 elements are possible, not of 64; 64 queries read the same keys, 2 are possible; a "
            "row of q has 264 elements: more "
            "than 256 do not fit into registers");
  EXPECT_EQ(complaint("input q: f16[4, 64, 64]\ninput w: f16[4, 64, 64]\ninput v: f16[4, 64, 64]\n"
                      "view k = w: [4, 64, 64] strides [4096, 1, 64]"),
            "'attention' has no kernel for this: q is f16: this kernel is for f32; the elements of a row of k are 64 "
            "apart: they have to lie side by side");
  EXPECT_EQ(complaint(right, "tile: 128x100"), "'tile' 128x100: the keys are a multiple of 16 up to 256; try 128x112");
  EXPECT_EQ(complaint(right, "tile: 256x64"),
            "'tile' 256x64: the queries are 64 a warpgroup, of one to three; try 128x128");
  EXPECT_EQ(complaint(right, "tile: 192x192"), "'tile' 192x192: a thread would want 208 registers of 160; try 192x128");
  EXPECT_EQ(complaint(right, "tile: 128x128, stages: 7"),
            "'stages' 7: 246784 bytes are more than a block's 232448 of shared memory; try 6");
  EXPECT_EQ(complaint(right, "tile: 192x128, stages: 6, ahead: 1"), "taken");
  EXPECT_EQ(complaint(right, "tile: 192x128, stages: 6, ahead: 2"),
            "'ahead' 2: the queries of two items do not fit beside the stages of keys and values; try 1");
}

class AttentionKindOnDeviceTest : public testing::ProgramOnDeviceTest,
                                  public ::testing::WithParamInterface<std::string_view> {};

TEST_P(AttentionKindOnDeviceTest, ItComputesWhatItsProgramSays) {
  // Weights and results are rounded to the operands' type.
  for (const auto& [type, tolerance] : {std::pair{"f16", 0x1p-10}, std::pair{"bf16", 0x1p-7}}) {
    SCOPED_TRACE(Of(type, GetParam()));
    ExpectWhatItSays(Of(type, GetParam()), tolerance);
  }
}
INSTANTIATE_TEST_SUITE_P(Kinds, AttentionKindOnDeviceTest, ::testing::ValuesIn(kPrograms));

// What is hidden weighs nothing, however large it is; a NaN is in the rows that see it and in no others.
TEST_F(AttentionOnDeviceTest, ExtremesStayInTheirRows) {
  constexpr std::size_t kRows = 300, kWidth = 64;
  const auto lowered = Lowered(
      "input q: bf16[300, 64]\ninput k: bf16[300, 64]\ninput v: bf16[300, 64]\noutput y: f32[300, 64]\n"
      "y = attention(q, k, v) by {causal: 1}");
  const auto& program = std::get<KernelProgram>(lowered);
  std::vector<std::vector<double>> values(program.buffers.size(), std::vector<double>(kRows * kWidth));
  for (std::size_t i = 0; i < kRows * kWidth; ++i) {
    values[0][i] = 1;
    values[1][i] = i / kWidth == 200 ? 1000 : 1;  // a score of 64000, of 64 else
    values[2][i] = i / kWidth == 200 ? 3 : static_cast<double>(i / kWidth % 2);
  }
  values[1][250 * kWidth + 7] = std::nan("");
  values[3].clear();
  const auto y = Run(program, values)[3];
  for (std::size_t i = 0; i < kRows * kWidth; ++i) {
    const std::size_t row = i / kWidth;
    if (row >= 250) {
      ASSERT_TRUE(std::isnan(y[i])) << i;
    } else {
      ASSERT_NEAR(y[i], row >= 200 ? 3 : static_cast<double>((row + 1) / 2) / static_cast<double>(row + 1), 0x1p-6)
          << i;
    }
  }
}

}  // namespace
}  // namespace hone
