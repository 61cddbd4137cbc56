// Attention whose keys are in pages, of many queries and of long rows: every kind of it compiles without spills, its
// blocks, run on the host, make what the program says, and so does a device; what is no page for the copy engine is
// refused in a line. That of few queries is with the ways that are for those. The device's is skipped where there is
// none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "dsl/testing/device_blocks.h"
#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::KernelProgram;

constexpr std::string_view kPrograms[] = {
    // Pages of fewer keys than a tile and of more; heads that share keys and lie before or behind a page's keys; a
    // table
    // for all and one of each batch, in the cache of keys and values or in two; lengths, windows, causal queries; keys
    // that are no whole number of tiles.
    "input q: TYPE[2, 2, 3, 70, 64]\ninput k: TYPE[30, 16, 2, 64]\ninput v: TYPE[30, 16, 2, 64]\ninput t: u8[2, 9]\n"
    "output y: TYPE[2, 2, 3, 70, 64]\n"
    "view kp = k: [1, 2, 1, 30, 16, 64] strides [0, 64, 0, 2048, 128, 1]\n"
    "view vp = v: [1, 2, 1, 30, 16, 64] strides [0, 64, 0, 2048, 128, 1]\n"
    "view at = t: [2, 1, 1, 9] strides [9, 0, 0, 1]\n"
    "y = attention(q, kp, vp, select(at > 29, 29, at)) with {TILE} let score = it * 0.125",
    "input q: TYPE[2, 2, 70, 64]\ninput k: TYPE[12, 2, 48, 64]\ninput v: TYPE[12, 2, 48, 40]\ninput t: u8[2, 5]\n"
    "input l: i64[2, 1, 1, 1]\noutput y: f32[2, 70, 80]\n"
    "view kp = k: [1, 2, 12, 48, 64] strides [0, 3072, 6144, 64, 1]\n"
    "view vp = v: [1, 2, 12, 48, 40] strides [0, 1920, 3840, 40, 1]\n"
    "view at = t: [2, 1, 5] strides [5, 0, 1]\n"
    "y: [2, 70, 80] = attention(q, kp, vp, select(at > 11, 11, at)) by {heads: 1, safe: 1} with {TILE} let score = "
    "select(key() < l * 20, it * 0.125, -inf)",
    "input q: TYPE[2, 200, 128]\ninput c: TYPE[2, 5, 128, 128]\ninput t: i64[3]\noutput y: TYPE[2, 200, 128]\n"
    "view k = c: [5, 128, 128] strides [16384, 128, 1]\nview v = c: [5, 128, 128] strides [16384, 128, 1] offset "
    "81920\n"
    "y = attention(q, k, v, select(or(t < 0, t > 4), 3, t)) by {causal: 1} with {TILE} let score = select(query() - "
    "key() < 90, it * 0.088, "
    "-inf)",
    "input q: TYPE[2, 64, 24]\ninput k: TYPE[9, 8, 24]\ninput v: TYPE[9, 8, 72]\ninput t: u8[2, 13]\n"
    "output y: TYPE[2, 64, 72]\ny = attention(q, k, v, select(t > 8, 8, t)) with {TILE} let score = it * 0.2 -> it * "
    "0.5",
};
// Rows in two parts and in one; of a cache of their own each, and of one; beyond lengths.
constexpr std::string_view kLong[] = {
    "input q: TYPE[2, 20, 512]\ninput r: TYPE[2, 20, 64]\ninput c: TYPE[9, 16, 512]\ninput p: TYPE[9, 16, 64]\n"
    "input t: u8[2, 7]\ninput l: i64[2, 1, 1]\noutput y: TYPE[2, 20, 512]\n"
    "y = attention(q, c, c, select(t > 8, 8, t), r, p) by {safe: 1} with {TILE} let score = select(key() < l * 20, it "
    "* 0.0625, -inf)",
    "input q: TYPE[2, 70, 576]\ninput c: TYPE[5, 64, 576]\ninput t: u8[2, 3]\noutput y: TYPE[2, 70, 512]\n"
    "view v = c: [5, 64, 512] strides [36864, 576, 1]\n"
    "y = attention(q, c, v, select(t > 4, 4, t)) with {TILE} let score = it * 0.0625",
    "input q: TYPE[2, 2, 30, 320]\ninput k: TYPE[7, 32, 2, 320]\ninput v: TYPE[7, 32, 2, 320]\ninput t: u8[2, 3]\n"
    "output y: TYPE[2, 2, 30, 320]\nview kp = k: [1, 2, 7, 32, 320] strides [0, 320, 20480, 640, 1]\n"
    "view vp = v: [1, 2, 7, 32, 320] strides [0, 320, 20480, 640, 1]\nview at = t: [2, 1, 3] strides [3, 0, 1]\n"
    "y = attention(q, kp, vp, select(at > 6, 6, at)) by {causal: 1} with {TILE} let score = it * 0.0625",
};

std::string Of(std::string_view type, std::string_view settings, std::string_view program) {
  std::string text(program);
  for (std::size_t at; (at = text.find("TYPE")) != std::string::npos;) text.replace(at, 4, type);
  text.replace(text.find("TILE"), 4, settings);
  return text;
}

using PagesTest = testing::CudaProgramTest;
using PagesOnHostTest = dsl::testing::DeviceBlocksTest;

TEST_F(PagesTest, EveryKindCompilesWithoutSpills) {
  for (const auto program : kPrograms) ExpectLaunchesWithoutSpills(Of("bf16", "path: tiles", program), 1);
  for (const auto program : kLong) ExpectLaunchesWithoutSpills(Of("f16", "path: long, split: 3", program), 2);
}

TEST_F(PagesOnHostTest, BlocksMakeWhatTheProgramSays) {
  bool other = false;
  for (const auto program : kPrograms) {
    other = !other;
    ExpectBlocksSay(Of("f16", "path: tiles", program), 0x1p-10);
    ExpectBlocksSay(Of("bf16", other ? "path: tiles, tile: 64x16" : "path: tiles, tile: 64x48", program), 0x1p-7);
  }
  for (const auto program : kLong) {
    ExpectBlocksSay(Of("f16", "path: long, split: 1", program), 0x1p-10);
    ExpectBlocksSay(Of("bf16", "path: long, split: 2, keys: 16", program), 0x1p-7);
  }
}

TEST_F(PagesTest, TilesArePagesOrPartsOfThemAndThoseHaveWholeEights) {
  const auto said = [&](int page, std::string_view with) {
    const auto lowered = Lowered(fmt::format(
        "input q: bf16[2, 64, 64]\ninput k: bf16[9, {0}, 64]\ninput v: bf16[9, {0}, 64]\ninput t: i32[2, 8]\n"
        "output y: bf16[2, 64, 64]\ny = attention(q, k, v, t) with {{{1}}}",
        page, with));
    if (const auto* complaint = std::get_if<dsl::Complaint>(&lowered)) return complaint->message;
    const auto& kernel = std::get<KernelProgram>(lowered).kernels.at(0);
    return fmt::format("{} keys", std::get<std::vector<std::int64_t>>(kernel.settings.at("tile").value)[1]);
  };
  EXPECT_EQ(said(16, ""), "128 keys");
  EXPECT_EQ(said(48, ""), "192 keys");
  EXPECT_EQ(said(144, ""), "48 keys");
  EXPECT_EQ(said(16, "path: tiles, tile: 128x80"), "80 keys");
  EXPECT_EQ(said(64, "path: tiles, tile: 128x80"),
            "'tile' 128x80: a tile of 80 keys is neither whole pages of 64 nor a part of one; try 128x128");
  const std::string none = said(12, "path: tiles");
  EXPECT_NE(none.find("pages of 12 keys: the copy engine reads such of 8 or a multiple of 16; look them up before"),
            std::string::npos)
      << none;
}

TEST_F(PagesTest, SecondPartsOfKeysAreInTheSamePages) {
  const auto lowered = Lowered(
      "input q: bf16[64, 128]\ninput k: bf16[9, 16, 128]\ninput t: i32[8]\ninput r: bf16[64, 64]\n"
      "input p: bf16[8, 16, 64]\noutput y: bf16[64, 128]\ny = attention(q, k, k, t, r, p)");
  ASSERT_TRUE(std::holds_alternative<dsl::Complaint>(lowered));
  EXPECT_EQ(std::get<dsl::Complaint>(lowered).message,
            "attention of [64, 128], [9, 16, 128] and [9, 16, 128], by pages of [8]: the second parts of rows, "
            "[64, 64] and [8, 16, 64], want as many rows, and elements as each other");
}

class PagesOnDeviceTest : public testing::ProgramOnDeviceTest,
                          public ::testing::WithParamInterface<std::string_view> {};
class LongPagesOnDeviceTest : public PagesOnDeviceTest {};

TEST_P(PagesOnDeviceTest, ItComputesWhatItsProgramSays) {
  for (const auto& [type, tolerance] : {std::pair{"f16", 0x1p-10}, std::pair{"bf16", 0x1p-7}}) {
    SCOPED_TRACE(Of(type, "path: tiles", GetParam()));
    ExpectWhatItSays(Of(type, "path: tiles", GetParam()), tolerance);
  }
}
TEST_P(LongPagesOnDeviceTest, ItComputesWhatItsProgramSays) {
  for (const std::string_view settings : {"path: long, split: 1", "path: long, split: 3, keys: 16"}) {
    SCOPED_TRACE(Of("bf16", settings, GetParam()));
    ExpectWhatItSays(Of("bf16", settings, GetParam()), 0x1p-7);
  }
}
INSTANTIATE_TEST_SUITE_P(Tiles, PagesOnDeviceTest, ::testing::ValuesIn(kPrograms));
INSTANTIATE_TEST_SUITE_P(Long, LongPagesOnDeviceTest, ::testing::ValuesIn(kLong));

}  // namespace
}  // namespace hone
