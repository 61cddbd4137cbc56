// Attention of sequences that are packed into one: whatever documents' numbers are, it computes what the program says,
// blocks on the host and all of it where there is a device; and where they ascend only tiles of the same documents are
// looked at.
#include "dsl/cuda/alike_keys.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "dsl/testing/device_blocks.h"
#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::KernelProgram;

// Documents one after the other, causal and not; numbers without order, of a batch each and of heads; those of queries
// and of keys apart, of which some have no key; with lengths beside them, and with a bias; as an addend.
constexpr std::string_view kPacked[] = {
    "input q: TYPE[2, 3, 300, 64]\ninput k: TYPE[2, 3, 300, 64]\ninput v: TYPE[2, 3, 300, 64]\n"
    "output y: TYPE[2, 3, 300, 64]\ninput z: i64[1]\ni: i64 = nest [b < 2, n < 300] (floordiv(n + b * 40 + z[0], "
    "130))\n"
    "view a = i: [2, 1, 300, 1] strides [300, 0, 1, 0]\nview c = i: [2, 1, 1, 300] strides [300, 0, 0, 1]\n"
    "y = attention(q, k, v) by {causal: 1} with {TILE} let score = select(a == c, it * 0.125, -inf)",
    "input q: TYPE[256, 64]\ninput k: TYPE[256, 64]\ninput v: TYPE[256, 64]\noutput y: TYPE[256, 64]\n"
    "input z: i64[1]\ni: i32 = nest [n < 256] (floordiv(n, 128) + z[0])\nview a = i: [256, 1] strides [1, 0]\n"
    "y = attention(q, k, v) with {TILE} let score = select(i == a, it * 0.125, -inf)",
    "input q: TYPE[2, 3, 200, 64]\ninput k: TYPE[2, 3, 200, 64]\ninput v: TYPE[2, 3, 200, 64]\n"
    "input r: u8[2, 3, 200]\noutput y: TYPE[2, 3, 200, 64]\nview a = r: [2, 3, 200, 1] strides [600, 200, 1, 0]\n"
    "view c = r: [2, 3, 1, 200] strides [600, 200, 0, 1]\n"
    "y = attention(q, k, v) by {causal: 1} with {TILE} let score = select(floordiv(a, 32) == floordiv(c, 32), it * "
    "0.125, -inf)",
    "input q: TYPE[2, 140, 64]\ninput k: TYPE[2, 260, 64]\ninput v: TYPE[2, 260, 64]\ninput l: i64[2, 1, 1]\n"
    "output y: f32[2, 140, 64]\ni: i64 = nest [n < 140] (floordiv(n + l[0, 0, 0], 50))\nview a = i: [140, 1] strides "
    "[1, 0]\n"
    "c: i64 = nest [n < 260] (floordiv(n + l[0, 0, 0], 120))\n"
    "y = attention(q, k, v) by {safe: 1} with {TILE} let score = select(and(a == c + 1, key() < l * 40), it * 0.125, "
    "-inf)",
    "input q: TYPE[300, 64]\ninput k: TYPE[300, 64]\ninput v: TYPE[300, 64]\ninput b: TYPE[300, 300]\n"
    "output y: TYPE[300, 64]\ninput z: i64[1]\ni: i64 = nest [n < 300] (floordiv(n + z[0], 200))\nview a = i: [300, 1] "
    "strides [1, 0]\n"
    "y = attention(q, k, v) with {TILE} let score = it * 0.125 + b + select(a == i, 0, -inf)",
};

std::string PackedOf(std::string_view type, std::string_view settings, std::string_view program) {
  std::string text(program);
  for (std::size_t at; (at = text.find("TYPE")) != std::string::npos;) text.replace(at, 4, type);
  text.replace(text.find("TILE"), 4, settings);
  return text;
}

using AlikeKeysTest = testing::CudaProgramTest;
using AlikeKeysOnHostTest = dsl::testing::DeviceBlocksTest;

TEST_F(AlikeKeysTest, AKernelBeforeFindsThemAndNothingIsSpilled) {
  for (const std::string_view program : kPacked) {
    SCOPED_TRACE(program);
    const auto lowered = Lowered(PackedOf("bf16", "path: tiles", program));
    ASSERT_TRUE(std::holds_alternative<KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
    const auto built = Build(std::get<KernelProgram>(lowered));
    EXPECT_NE(dsl::testing::CudaText(std::get<KernelProgram>(lowered)).find("y_alike["), std::string::npos);
    ASSERT_FALSE(built.launches.empty());
    EXPECT_EQ(built.launches.back().spill_load_bytes, 0);
  }
}

TEST_F(AlikeKeysOnHostTest, BlocksMakeWhatTheProgramSays) {
  for (const std::string_view program : kPacked) {
    ExpectBlocksSay(PackedOf("f16", "path: tiles, tile: 128x64", program), 0x1p-10);
    ExpectBlocksSay(PackedOf("bf16", "path: tiles, tile: 64x48", program), 0x1p-7);
  }
}

class AlikeKeysOnDeviceTest : public testing::ProgramOnDeviceTest,
                              public ::testing::WithParamInterface<std::string_view> {};

TEST_P(AlikeKeysOnDeviceTest, ItComputesWhatItsProgramSays) {
  ExpectWhatItSays(PackedOf("f16", "path: tiles", GetParam()), 0x1p-10);
  ExpectWhatItSays(PackedOf("bf16", "path: tiles, tile: 64x64", GetParam()), 0x1p-7);
}
INSTANTIATE_TEST_SUITE_P(Kinds, AlikeKeysOnDeviceTest, ::testing::ValuesIn(kPacked));

}  // namespace
}  // namespace hone
