// Attention with long rows: every kind of it compiles without spills, alone and split; its blocks, run on the host,
// make what the program says, and so does a device. The last is skipped where there is none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "dsl/testing/device_blocks.h"
#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::KernelProgram;

// Latent attention: rows in two parts, which come in either order, or in one, of which the value is a part; more rows
// than a tile has, and fewer; several queries of heads that share keys; keys that fill no tile. Values of their own, of
// rows as long as keys or longer. Scores with operands or places, a mask that leaves nothing; an end with operands, and
// with the logarithm of the sum; widths that fill no box.
constexpr std::string_view kPrograms[] = {
    // Scores of which only the largest has a weight, whatever rounding takes from it.
    "input q: TYPE[2, 128, 576]\ninput c: TYPE[2, 200, 576]\noutput y: TYPE[2, 128, 512]\n"
    "view v = c: [2, 200, 512] strides [115200, 576, 1]\ny = attention(q, c, v) with {SPLIT} let score = it * 1e20",
    "input q: TYPE[2, 128, 512]\ninput r: TYPE[2, 128, 64]\ninput c: TYPE[2, 300, 512]\ninput p: TYPE[2, 300, 64]\n"
    "output y: TYPE[2, 128, 512]\ny = attention(q, c, c, r, p) with {SPLIT} let score = it * 0.0625",
    "input q: TYPE[2, 16, 576]\ninput c: TYPE[2, 200, 576]\noutput y: TYPE[2, 16, 512]\n"
    "view v = c: [2, 200, 512] strides [115200, 576, 1]\ny = attention(q, c, v) with {SPLIT} let score = it * 0.0625",
    "input r: TYPE[1, 70, 64]\ninput q: TYPE[1, 70, 512]\ninput c: TYPE[1, 130, 576]\noutput y: f32[1, 70, 512]\n"
    "view p = c: [1, 130, 64] strides [74880, 576, 1]\nview v = c: [1, 130, 512] strides [74880, 576, 1] offset 64\n"
    "y = attention(r, p, v, q, v) with {SPLIT} let score = it * 0.0625",
    "input q: TYPE[2, 2, 32, 576]\ninput c: TYPE[2, 1, 100, 576]\ninput m: f32[2, 2, 1, 100]\n"
    "output y: TYPE[2, 2, 32, 512]\nview v = c: [2, 1, 100, 512] strides [57600, 57600, 576, 1]\n"
    "y = attention(q, c, v) with {SPLIT} let score = it * 0.0625 + m",
    "input q: TYPE[2, 3, 40, 320]\ninput k: TYPE[2, 1, 90, 320]\ninput v: TYPE[2, 1, 90, 320]\n"
    "output y: TYPE[2, 40, 960]\ninput z: f32[40, 1, 1]\n"
    "y: [2, 40, 960] = attention(q, k, v) by {heads: 1} with {SPLIT} let score = select(key() <= query() + 50, it * "
    "0.0625, -inf) -> it + z",
    "input q: TYPE[64, 384]\ninput k: TYPE[77, 384]\ninput v: TYPE[77, 72]\noutput y: TYPE[64, 72]\n"
    "y = attention(q, k, v) with {SPLIT} let score = it * 0.05",
    "input q: TYPE[1, 64, 80]\ninput k: TYPE[1, 77, 80]\ninput v: TYPE[1, 77, 504]\ninput m: u8[1, 64, 77]\n"
    "input r: u8[1, 64, 1]\noutput y: f32[1, 64, 504]\n"
    "y: [1, 64, 504] = attention(q, k, v) by {safe: 1} with {SPLIT} let score = select(m > 40, select(r > 30, it * "
    "0.125, -inf), -inf)",
};
constexpr std::string_view kCausal[] = {
    "input q: TYPE[2, 100, 128]\ninput r: TYPE[2, 100, 64]\ninput c: TYPE[2, 130, 128]\ninput p: TYPE[2, 130, 64]\n"
    "output y: f32[2, 100, 128]\ny = attention(q, c, c, r, p) by {causal: 1} with {SPLIT} let score = it * 0.0625",
    "input q: TYPE[3, 50, 576]\ninput c: TYPE[1, 150, 576]\noutput y: f32[3, 50, 512]\n"
    "view v = c: [1, 150, 512] strides [86400, 576, 1]\n"
    "y = attention(q, c, v) by {causal: 1} with {SPLIT}",
};
constexpr std::string_view kWithLogSum =
    "input q: TYPE[1, 128, 576]\ninput c: TYPE[1, 150, 576]\ninput sink: f32[128, 1]\noutput y: TYPE[1, 128, 512]\n"
    "view v = c: [1, 150, 512] strides [86400, 576, 1]\n"
    "y = attention(q, c, v) with {SPLIT} let score = it * 0.0625 -> it * sigmoid(lse() - sink)";

std::string Of(std::string_view type, std::string_view settings, std::string_view program) {
  std::string text(program);
  for (std::size_t at; (at = text.find("TYPE")) != std::string::npos;) text.replace(at, 4, type);
  text.replace(text.find("SPLIT"), 5, fmt::format("path: long, {}", settings));
  return text;
}

using LongRowsTest = testing::CudaProgramTest;
using LongRowsOnHostTest = dsl::testing::DeviceBlocksTest;

TEST_F(LongRowsTest, EveryKindCompilesWithoutSpillsAndASplitOneHasASecondKernel) {
  for (const auto program : kPrograms) {
    ExpectLaunchesWithoutSpills(Of("bf16", "split: 1", program), 1);
    ExpectLaunchesWithoutSpills(Of("f16", "split: 3", program), 2);
  }
  for (const auto program : kCausal) ExpectLaunchesWithoutSpills(Of("bf16", "split: 2", program), 2);
  ExpectLaunchesWithoutSpills(Of("bf16", "split: 1", kWithLogSum), 1);
  ExpectLaunchesWithoutSpills(Of("bf16", "split: 2, cluster: 1, keys: 32", kWithLogSum), 2);
}

// Each in one of two ways, as it takes seconds.
TEST_F(LongRowsOnHostTest, BlocksMakeWhatTheProgramSays) {
  bool split = false;
  for (const auto program : kPrograms) {
    split = !split;
    ExpectBlocksSay(split ? Of("f16", "split: 3, keys: 32", program) : Of("bf16", "split: 1", program),
                    split ? 0x1p-10 : 0x1p-7);
  }
  for (const auto program : kCausal) ExpectBlocksSay(Of("bf16", "split: 2", program), 0x1p-7);
  ExpectBlocksSay(Of("bf16", "split: 1, cluster: 2", kPrograms[0]), 0x1p-7);
}

TEST_F(LongRowsTest, TheyAreTheDefaultOfLongRowsAlone) {
  const auto way = [&](int depth, int width, std::string_view with) {
    const auto lowered =
        Lowered(fmt::format("input q: bf16[64, {0}]\ninput k: bf16[512, {0}]\ninput v: bf16[512, {1}]\n"
                            "output y: bf16[64, {1}]\ny = attention(q, k, v) {2}",
                            depth, width, with));
    if (const auto* said = std::get_if<dsl::Complaint>(&lowered)) return said->message;
    return WordSetting(std::get<KernelProgram>(lowered).kernels[0], "path");
  };
  EXPECT_EQ(way(256, 256, ""), "tiles");
  EXPECT_EQ(way(320, 320, ""), "long");
  EXPECT_EQ(way(576, 512, ""), "long");
  EXPECT_EQ(way(128, 128, "with {path: long}"), "'path' long: rows of 128 and 128 elements are not long; try tiles");
  EXPECT_EQ(way(576, 512, "with {keys: 64}"),
            "'keys' 64: two stages of them are more than a block's shared memory; try 32");
  EXPECT_EQ(way(576, 512, "with {cluster: 2}"),
            "'cluster' 2: 1 tiles of queries read the same keys, no even number; try 1");
}

TEST_F(LongRowsTest, RowsInTwoPartsAreForThemAndPartsHaveToFit) {
  const auto complaint = [&](std::string_view parts) {
    const auto lowered =
        Lowered(fmt::format("input q: bf16[64, 128]\ninput k: bf16[512, 128]\n{}\noutput y: bf16[64, 128]\n"
                            "y = attention(q, k, k, r, p)",
                            parts));
    const auto* said = std::get_if<dsl::Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  EXPECT_EQ(complaint("input r: bf16[64, 192]\ninput p: bf16[512, 192]"), "taken");
  EXPECT_EQ(complaint("input r: bf16[64, 192]\ninput p: bf16[512, 128]"),
            "attention of [64, 128], [512, 128] and [512, 128]: the second parts of rows, [64, 192] and [512, 128], "
            "want as many rows, and elements as each other");
}

class LongRowsOnDeviceTest : public testing::ProgramOnDeviceTest,
                             public ::testing::WithParamInterface<std::string_view> {};

TEST_P(LongRowsOnDeviceTest, ItComputesWhatItsProgramSays) {
  for (const std::string_view settings : {"split: 1", "split: 3", "split: 2, keys: 32, cluster: 1"}) {
    for (const auto& [type, tolerance] : {std::pair{"f16", 0x1p-10}, std::pair{"bf16", 0x1p-7}}) {
      SCOPED_TRACE(Of(type, settings, GetParam()));
      ExpectWhatItSays(Of(type, settings, GetParam()), tolerance);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Kinds, LongRowsOnDeviceTest, ::testing::ValuesIn(kPrograms));
INSTANTIATE_TEST_SUITE_P(Causal, LongRowsOnDeviceTest, ::testing::ValuesIn(kCausal));
INSTANTIATE_TEST_SUITE_P(LogSum, LongRowsOnDeviceTest, ::testing::Values(kWithLogSum));

}  // namespace
}  // namespace hone
