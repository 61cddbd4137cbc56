// The last tiles of a product in parts of K: how many there are of each, when that is what is tried first, that it
// builds without spills, and on a device that it computes what it says.
#include "dsl/cuda/tensor_tail.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "dsl/testing/device_blocks.h"
#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::Complaint;
using dsl::KernelProgram;

std::string Product(std::int64_t batches, std::int64_t m, std::int64_t n, std::int64_t k, std::string_view settings,
                    std::string_view type = "bf16", std::string_view chain = " -> it + beside") {
  return fmt::format(
      "input x: {5}[{0}, {1}, {3}]\ninput w_: {5}[{0}, {2}, {3}]\ninput beside: {5}[{0}, {1}, {2}]\n"
      "output y: {5}[{0}, {1}, {2}]\nview w = w_: [{0}, {3}, {2}] strides [{4}, 1, {3}]\n"
      "y = matmul(x, w) with {{{6}}}{7}\n",
      batches, m, n, k, n * k, type, settings, chain);
}

class TailTest : public testing::CudaProgramTest {
 protected:
  static std::string Chosen(std::string_view knob, const std::string& text) {
    const auto lowered = Lowered(text);
    const auto* program = std::get_if<KernelProgram>(&lowered);
    if (!program) return std::get<Complaint>(lowered).message;
    return ToString(program->kernels.at(0).settings.at(std::string(knob)));
  }
};
using TailOnDeviceTest = testing::ProgramOnDeviceTest;
using TileBlocksTest = dsl::testing::DeviceBlocksTest;

TEST(TailPartsTest, WhatIsLeftIsMadeByAsManyBlocksAsThereAre) {
  const auto parts = [](std::int64_t tiles, std::int64_t blocks, std::int64_t steps) {
    const dsl::TailParts tail = dsl::PartsOfTail(tiles, blocks, steps);
    return fmt::format("{} in {}", tail.tiles, tail.parts);
  };
  EXPECT_EQ(parts(448, 132, 128), "52 in 2");
  EXPECT_EQ(parts(688, 132, 64), "28 in 4");
  EXPECT_EQ(parts(24, 132, 64), "24 in 5");
  EXPECT_EQ(parts(24, 132, 3), "24 in 3");  // no part is empty
  EXPECT_EQ(parts(512, 132, 64), "116 in 1");
  EXPECT_EQ(parts(264, 132, 64), "0 in 1");
}

TEST_F(TailTest, WhatFillsTheDeviceIsTriedFirst) {
  // Four rounds of 132 tiles of which the last has 52; and 4096^3, whose last has 116.
  EXPECT_EQ(Chosen("tail", Product(1, 2048, 7168, 8192, "precision: bf16")), "parts");
  EXPECT_EQ(Chosen("tail", Product(1, 4096, 4096, 4096, "precision: bf16")), "whole");
  EXPECT_EQ(Chosen("split", Product(1, 2048, 7168, 8192, "precision: bf16")), "1");
  // Pairs of blocks that share B, where lines begin within 128 bytes.
  EXPECT_EQ(Chosen("cluster", Product(1, 3000, 3000, 3000, "precision: bf16")), "2");
  EXPECT_EQ(Chosen("cluster", Product(1, 3000, 3000, 3072, "precision: bf16")), "1");
  // Up to 64 rows memory is all that counts.
  EXPECT_EQ(Chosen("tail", Product(1, 64, 4096, 14336, "precision: bf16")), "whole");
}

TEST_F(TailTest, TilesAreAsWideAsLeavesFewMultiprocessorsIdle) {
  EXPECT_EQ(Chosen("tile", Product(1, 1576, 768, 768, "precision: bf16")), "64x160");
  EXPECT_EQ(Chosen("tile", Product(1, 2000, 1280, 1280, "precision: bf16")), "128x160");
  EXPECT_EQ(Chosen("tile", Product(1, 128, 768, 768, "precision: bf16")), "64x64");
  EXPECT_EQ(Chosen("split", Product(1, 400, 1024, 4096, "precision: bf16")), "3");
  EXPECT_EQ(Chosen("tile", Product(1, 1576, 768, 3072, "precision: bf16")), "128x96");
  EXPECT_EQ(Chosen("end", Product(1, 1576, 768, 3072, "precision: bf16")), "lines");
  EXPECT_EQ(Chosen("tile", Product(1, 512, 512, 512, "precision: bf16, tile: 128x96, end: tiles")),
            "'end' tiles: the copy engine has boxes of 64 columns; try lines");
  EXPECT_EQ(Chosen("tile", Product(1, 512, 512, 512, "precision: bf16, tile: 128x72")),
            "'tile' 128x72: the columns are 64, 96, 128, 160, 192 or 256; try 128x128");
}

TEST_F(TileBlocksTest, WhatWholeBoxesOfColumnsLeaveBehindLeavesInLines) {
  ExpectBlocksSay(Product(2, 72, 104, 80, "precision: bf16, tile: 64x96, split: 1"), 1e-2);
  ExpectBlocksSay(Product(1, 136, 168, 72, "precision: f16, tile: 128x160, cluster: 2", "f16"), 2e-3);
}

TEST_F(TailTest, WhatCannotBeIsRefusedInALine) {
  EXPECT_EQ(Chosen("tail", Product(1, 512, 512, 4096, "precision: bf16, tile: 128x128, turns: yes, tail: parts")),
            "'tail' parts: a tile's halves in turns are of all K; try whole");
  EXPECT_EQ(Chosen("tail", Product(1, 512, 512, 4096, "precision: bf16, tile: 128x128, tail: parts, split: 2")),
            "'split' 2: the last tiles are made in parts of K already; try 1");
  EXPECT_EQ(Chosen("tail", Product(1, 512, 512, 4096, "precision: f16, tail: parts", "f32")),
            "'tail' parts: only products of operands that lie as they are multiplied have it; remove it");
}

// Edges of rows and columns; what is beside by stages and, in lines, by the threads; batches; clusters.
struct Case {
  std::int64_t batches, m, n, k;
  std::string_view settings;
};
constexpr Case kCases[] = {
    {1, 200, 520, 448, "tile: 128x256"},
    {1, 200, 520, 448, "tile: 128x128, end: lines"},
    {3, 72, 328, 512, "tile: 64x256"},
    {1, 264, 200, 648, "tile: 128x192, cluster: 2"},
    {2, 136, 72, 328, "tile: 64x128"},
    {1, 1280, 896, 128, "tile: 128x64"},  // 132 whole ones beside the parts of eight
    {1, 200, 520, 448, "tile: 128x96"},   // whole boxes of columns, and half of one
    {2, 136, 320, 200, "tile: 128x160"},
    {1, 100, 520, 192, "tile: 64x96"},
    {1, 136, 312, 192, "tile: 64x160"},
};

TEST_F(TailTest, BuildsWithoutSpills) {
  for (const Case& one : kCases) {
    for (const std::string_view type : {"bf16", "f16"}) {
      const std::string settings = fmt::format("precision: {}, tail: parts, {}", type, one.settings);
      ExpectLaunchesWithoutSpills(Product(one.batches, one.m, one.n, one.k, settings, type), 1);
    }
  }
}

TEST_F(TailOnDeviceTest, EveryCaseComputesWhatItSays) {
  for (const Case& one : kCases) {
    for (const std::string_view type : {"bf16", "f16"}) {
      const std::string text = Product(one.batches, one.m, one.n, one.k,
                                       fmt::format("precision: {}, tail: parts, {}", type, one.settings), type);
      SCOPED_TRACE(text);
      ExpectWhatItSays(text, type == "bf16" ? 2e-2 : 3e-3);
    }
  }
}

}  // namespace
}  // namespace hone
