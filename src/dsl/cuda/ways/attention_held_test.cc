// Attention of few queries whose keys and values are of 8 bits: every kind of it compiles without spills, its blocks,
// run on the host, make what the program says, those of 16 bits too, and so does a device; what no way converts is
// refused in a line. The device's is skipped where there is none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "dsl/testing/device_blocks.h"
#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::KernelProgram;

struct Kind {
  std::string_view path, program;
};
// EIGHT is the type of keys and values, REAL(x) makes reals of them.
constexpr Kind kKinds[] = {
    // As they are; with a scale of all, of a batch, of each key; of keys or of values alone; divided.
    {"few",
     "input q: TYPE[2, 4, 64]\ninput k: EIGHT[2, 200, 64]\ninput v: EIGHT[2, 200, 64]\noutput y: TYPE[2, 4, 64]\n"
     "y = attention(q, REAL(k), REAL(v)) with {SPLIT} let score = it * 0.002"},
    {"few",
     "input q: TYPE[2, 4, 128]\ninput k: EIGHT[2, 500, 128]\ninput v: EIGHT[2, 500, 128]\ninput ks: TYPE[1]\n"
     "input vs: f32[2, 1, 1]\noutput y: TYPE[2, 4, 128]\n"
     "y = attention(q, REAL(k) * ks, vs * REAL(v) / 2) with {SPLIT} let score = it * 0.002 -> it + 1"},
    {"few",
     "input q: TYPE[2, 4, 128]\ninput k: EIGHT[2, 333, 128]\ninput v: EIGHT[2, 333, 128]\ninput ks: TYPE[2, 333, 1]\n"
     "input vs: f32[333, 1]\noutput y: TYPE[2, 4, 128]\n"
     "y = attention(q, REAL(k) * ks, REAL(v) * vs * 0.001) with {SPLIT} let score = it * 0.002"},
    {"few",
     "input q: TYPE[3, 9, 96]\ninput k: EIGHT[3, 77, 96]\ninput v: EIGHT[3, 77, 64]\ninput vs: f32[3, 77, 1]\n"
     "input l: u8[3, 1, 1]\noutput y: f32[3, 9, 64]\n"
     "y = attention(q, REAL(k), REAL(v) * vs) by {safe: 1} with {SPLIT} let score = select(key() < l, it * 0.002, "
     "-inf)"},
    {"few",
     "input q: TYPE[2, 3, 64]\ninput k: EIGHT[2, 77, 64]\ninput v: EIGHT[2, 77, 192]\ninput ks: f32[2, 77, 1]\n"
     "input vs: f32[]\noutput y: f32[2, 3, 192]\n"
     "y = attention(q, REAL(k) * ks, REAL(v) * vs) by {softmax: 0} with {SPLIT} let score = relu(it * 0.01) -> it / "
     "(total() + 1)"},
    // In pages, with a scale of each key there.
    {"few",
     "input q: TYPE[3, 4, 64]\ninput k: EIGHT[40, 16, 64]\ninput v: EIGHT[40, 16, 64]\ninput ks: f32[40, 16, 1]\n"
     "input vs: TYPE[1]\ninput t: u8[3, 5]\ninput l: u8[3, 1, 1]\noutput y: TYPE[3, 4, 64]\n"
     "y = attention(q, REAL(k) * ks, REAL(v) * vs, select(t > 39, 39, t)) by {safe: 1} with {SPLIT} let score = "
     "select(key() < l, it "
     "* 0.002, -inf)"},
    {"one",
     "input q: TYPE[2, 3, 1, 128]\ninput k: EIGHT[2, 3, 300, 128]\ninput v: EIGHT[2, 3, 300, 128]\n"
     "output y: TYPE[2, 3, 1, 128]\ny = attention(q, REAL(k), REAL(v)) with {SPLIT} let score = it * 0.002"},
    {"one",
     "input q: TYPE[2, 3, 2, 64]\ninput k: EIGHT[2, 3, 300, 64]\ninput v: EIGHT[2, 3, 300, 64]\n"
     "input ks: TYPE[2, 3, 300, 1]\ninput vs: TYPE[2, 3, 300, 1]\noutput y: TYPE[2, 3, 2, 64]\n"
     "y = attention(q, REAL(k) * ks, REAL(v) * vs) with {SPLIT} let score = it * 0.002"},
    {"one",
     "input q: TYPE[3, 1, 32]\ninput k: EIGHT[40, 16, 32]\ninput v: EIGHT[40, 16, 32]\ninput ks: f32[1]\n"
     "input vs: f32[40, 16, 1]\ninput t: u8[3, 5]\noutput y: TYPE[3, 1, 32]\n"
     "y = attention(q, REAL(k) * ks, REAL(v) * vs, select(t > 39, 39, t)) with {SPLIT} let score = it * 0.002"},
};

std::string Of(std::string_view type, std::string_view eight, int split, const Kind& kind) {
  std::string text(kind.program);
  const auto replace = [&](std::string_view what, std::string_view with) {
    for (std::size_t at; (at = text.find(what)) != std::string::npos;) text.replace(at, what.size(), with);
  };
  replace("REAL", eight == "i8" ? "real" : "");
  replace("EIGHT", eight);
  replace("TYPE", type);
  replace("SPLIT", fmt::format("path: {}, split: {}", kind.path, split));
  return text;
}

using HeldTest = testing::CudaProgramTest;
using HeldOnHostTest = dsl::testing::DeviceBlocksTest;

TEST_F(HeldTest, EveryKindCompilesWithoutSpills) {
  for (const Kind& kind : kKinds) {
    ExpectLaunchesWithoutSpills(Of("bf16", "f8e4m3", 3, kind), 2);
    ExpectLaunchesWithoutSpills(Of("f16", "i8", 1, kind), 1);
    ExpectLaunchesWithoutSpills(Of("f16", "f8e5m2", 1, kind), 1);
  }
}

TEST_F(HeldOnHostTest, BlocksMakeWhatTheProgramSays) {
  bool other = false;
  for (const Kind& kind : kKinds) {
    other = !other;
    ExpectBlocksSay(Of("f16", other ? "f8e4m3" : "i8", other ? 1 : 2, kind), 0x1p-10);
    ExpectBlocksSay(Of("bf16", other ? "i8" : "f8e5m2", other ? 2 : 1, kind), 0x1p-7);
  }
  for (const std::size_t unscaled : {0, 6}) {
    ExpectBlocksSay(Of("f16", "f16", 1, kKinds[unscaled]), 0x1p-10);
    ExpectBlocksSay(Of("bf16", "bf16", 2, kKinds[unscaled]), 0x1p-7);
  }
}

TEST_F(HeldTest, WhatNoWayConvertsIsRefused) {
  const auto said = [&](std::string_view operands, std::string_view with) {
    const auto lowered = Lowered(
        fmt::format("input q: bf16[2, 4, 64]\ninput k: i8[2, 512, 64]\ninput f: f8e4m3[2, 512, 64]\n"
                    "input b: bf16[2, 512, 64]\ninput s: f32[64]\noutput y: bf16[2, 4, 64]\ny = attention({}) {}",
                    operands, with));
    if (const auto* complaint = std::get_if<dsl::Complaint>(&lowered)) return complaint->message;
    return WordSetting(std::get<KernelProgram>(lowered).kernels.at(0), "path");
  };
  EXPECT_EQ(said("q, real(k), real(k)", ""), "few");
  EXPECT_EQ(said("q, real(k), real(k)", "with {path: one}"),
            "'path' one: 4 queries read the same keys, 2 are possible; try few");
  EXPECT_EQ(said("q, f * 2, f", ""), "few");
  EXPECT_NE(said("q, f * s, f", "").find("k is an expression: write it as a value of its own before"),
            std::string::npos);
  EXPECT_NE(said("q, b * 2, b", "").find("k is an expression: write it as a value of its own before"),
            std::string::npos);
  EXPECT_NE(said("q, f, real(k)", "").find("q, k and v are of different types"), std::string::npos);
  EXPECT_NE(said("q, f, f", "with {path: tiles}").find("k is f8e4m3: this kernel is for f16 and bf16"),
            std::string::npos);
}

class HeldOnDeviceTest : public testing::ProgramOnDeviceTest, public ::testing::WithParamInterface<Kind> {};

TEST_P(HeldOnDeviceTest, ItComputesWhatItsProgramSays) {
  for (const int split : {1, 3}) {
    for (const std::string_view eight : {"i8", "f8e4m3", "f8e5m2"}) {
      for (const auto& [type, tolerance] : {std::pair{"f16", 0x1p-10}, std::pair{"bf16", 0x1p-7}}) {
        SCOPED_TRACE(Of(type, eight, split, GetParam()));
        ExpectWhatItSays(Of(type, eight, split, GetParam()), tolerance);
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Kinds, HeldOnDeviceTest, ::testing::ValuesIn(kKinds));

}  // namespace
}  // namespace hone
