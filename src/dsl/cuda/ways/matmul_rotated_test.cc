// Products whose chains rotate pairs of columns: everything compiles without spills, what cannot be is refused in a
// line, and it computes what the program says. The last is skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_blocks.h"
#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using dsl::KernelProgram;

// How heads lie in the result: each by itself, side by side in a row, or as pairs' columns of which each has a number
// in tables of half as many.
enum class Heads : std::uint8_t { kApart, kSideBySide, kHalves, kNeighbours };

struct Case {
  std::int64_t batches, rows, depth, heads, columns;
  int distance;
  Heads lie;
  std::string_view settings, type = "bf16";
};

std::string Text(const Case& one) {
  const std::int64_t d = one.columns, half = d / 2;
  std::string text = fmt::format("input x: {0}[{1}, 1, {2}, {3}]\ninput w: {0}[{4}, {3}]\n", one.type, one.batches,
                                 one.rows, one.depth, one.heads * d);
  const bool halves = one.lie == Heads::kHalves || one.lie == Heads::kNeighbours;
  text += fmt::format("input cos: bf16[{0}, {1}]\ninput sin: f32[{0}, {1}]\n", one.rows, halves ? half : d);
  if (!halves)
    text += fmt::format("view b = w: [{0}, {1}, {2}] strides [{3}, 1, {1}]\n", one.heads, one.depth, d, d * one.depth);
  const auto views = [&](std::string_view shape, std::string_view strides) {
    for (const char* table : {"cos", "sin"})
      text += fmt::format("view {0}s = {0}: [{1}] strides [{2}]\n", table, shape, strides);
  };
  std::string result = fmt::format("{}, {}, {}, {}", one.batches, one.rows, one.heads, d), by = " by {heads: 1}";
  switch (one.lie) {
    case Heads::kApart:
      views(fmt::format("{}, {}", one.rows, d), fmt::format("{}, 1", d));
      result = fmt::format("{}, {}, {}, {}", one.batches, one.heads, one.rows, d);
      by = "";
      break;
    case Heads::kSideBySide: views(fmt::format("{}, 1, {}", one.rows, d), fmt::format("{}, 0, 1", d)); break;
    case Heads::kHalves:
      text += fmt::format("view b = w: [{0}, 2, {1}, {2}] strides [{3}, {4}, 1, {1}]\n", one.heads, one.depth, half,
                          d * one.depth, half * one.depth);
      text += fmt::format("view xs = x: [{0}, 1, 1, {1}, {2}] strides [{3}, 0, 0, {2}, 1]\n", one.batches, one.rows,
                          one.depth, one.rows * one.depth);
      views(fmt::format("{}, 1, {}", one.rows, half), fmt::format("{}, 0, 1", half));
      result = fmt::format("{}, {}, {}, 2, {}", one.batches, one.heads, one.rows, half);
      break;
    case Heads::kNeighbours:
      text += fmt::format("view b = w: [{0}, {1}, {2}, 2] strides [{3}, {4}, 1, {2}]\n", one.heads, half, one.depth,
                          d * one.depth, 2 * one.depth);
      text += fmt::format("view xs = x: [{0}, 1, 1, {1}, {2}] strides [{3}, 0, 0, {2}, 1]\n", one.batches, one.rows,
                          one.depth, one.rows * one.depth);
      views(fmt::format("{}, {}, 1", one.rows, half), fmt::format("{}, 1, 0", half));
      result = fmt::format("{}, {}, {}, {}, 2", one.batches, one.heads, one.rows, half);
      break;
  }
  return text + fmt::format("output y: {}[{}]\ny = matmul({}, b){}{}\n  -> it * coss + rotated({}) * sins",
                            one.type == "f32" ? "f32" : one.type, result, halves ? "xs" : "x", by,
                            one.settings.empty() ? "" : fmt::format(" with {{{}}}", one.settings), one.distance);
}

constexpr Case kCases[] = {
    {4, 2048, 2048, 16, 128, 64, Heads::kApart, "tile: 128x256, end: tiles"},
    {4, 2048, 2048, 16, 128, 64, Heads::kApart, "tile: 128x128, end: lines"},
    {4, 2048, 2048, 16, 128, 64, Heads::kApart, ""},
    {4, 2048, 2048, 16, 128, 64, Heads::kSideBySide, "tile: 128x256, end: tiles"},
    {4, 2048, 2048, 16, 128, 64, Heads::kHalves, "tile: 128x256, end: tiles"},
    {4, 2048, 2048, 16, 128, 1, Heads::kNeighbours, ""},
    {2, 72, 16, 3, 128, 64, Heads::kApart, "tile: 128x256, end: tiles"},
    {2, 72, 16, 3, 128, 64, Heads::kApart, "tile: 64x128, end: lines"},
    {2, 72, 16, 3, 128, 64, Heads::kSideBySide, "tile: 128x256, end: tiles", "f16"},
    {2, 72, 16, 3, 128, 32, Heads::kSideBySide, "tile: 128x192, end: tiles"},
    {2, 72, 16, 3, 128, 64, Heads::kHalves, "tile: 128x256, end: tiles"},
    {2, 72, 16, 3, 64, 32, Heads::kHalves, "tile: 128x64, end: lines", "f16"},
    {2, 72, 16, 3, 128, 1, Heads::kNeighbours, "tile: 128x256, end: tiles"},
    {1, 72, 16, 3, 128, 1, Heads::kNeighbours, "tile: 128x128, end: lines"},
    {2, 72, 16, 3, 64, 2, Heads::kApart, "tile: 64x128, end: tiles"},
    {2, 72, 16, 3, 64, 4, Heads::kApart, "tile: 128x128, end: lines"},
    {1, 72, 16, 3, 64, 8, Heads::kApart, "tile: 128x64, end: tiles, cluster: 2"},
    {2, 72, 16, 2, 256, 128, Heads::kApart, "tile: 128x256, turns: yes, end: tiles"},
    {2, 72, 16, 5, 16, 8, Heads::kSideBySide, "tile: 128x64, end: tiles"},
    {2, 72, 16, 5, 16, 8, Heads::kApart, "tile: 128x64, end: lines"},
    {2, 72, 16, 3, 96, 48, Heads::kSideBySide, "tile: 128x192, end: tiles"},
    {2, 72, 16, 4, 96, 48, Heads::kSideBySide, ""},
    {2, 72, 16, 3, 96, 48, Heads::kApart, "tile: 64x192, end: lines"},
    {2, 72, 16, 4, 48, 24, Heads::kApart, "end: lines"},
    {2, 72, 16, 3, 128, 64, Heads::kApart, "precision: f16", "f32"},
    {2, 72, 16, 3, 128, 64, Heads::kApart, "precision: f32x3", "f32"},
};

using CudaRotatedTest = testing::CudaProgramTest;
using RotatedOnHostTest = dsl::testing::DeviceBlocksTest;
using RotatedOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(CudaRotatedTest, EveryWayCompilesWithoutSpills) {
  for (const Case& one : kCases) {
    const std::string text = Text(one);
    SCOPED_TRACE(text);
    const auto built = BuiltOf(text);
    ASSERT_FALSE(built.launches.empty());
    // A few words where a table has one number for both columns: what it has is kept for all heads of the tile.
    const bool halves = one.lie == Heads::kHalves || one.lie == Heads::kNeighbours;
    for (const auto& launch : built.launches)
      EXPECT_LE(launch.spill_load_bytes + launch.spill_store_bytes, halves ? 64 : 0) << launch.name;
    EXPECT_EQ(built.launches.size() == 1, one.type != "f32");  // else operands are packed
    EXPECT_EQ(built.launches.back().instructions.contains("UTMASTG"),
              one.settings.find("end: lines") == std::string_view::npos && one.type != "f32");
  }
}

// Queries and keys beside values, which are not rotated.
constexpr std::string_view kSomeHeads =
    "input x: bf16[2, 1, 256, 96]\ninput w: bf16[576, 96]\ninput cos: bf16[256, 64]\ninput sin: bf16[256, 64]\n"
    "output y: bf16[2, 256, 9, 64]\nview b = w: [9, 96, 64] strides [6144, 1, 96]\n"
    "view cs = cos: [256, 1, 64] strides [64, 0, 1]\nview sn = sin: [256, 1, 64] strides [64, 0, 1]\n"
    "input numbers: i64[9]\nview head = numbers: [9, 1] strides [1, 0]\n"
    "y = matmul(x, b) by {heads: 1} -> select(mod(head, 3) == 0, it * cs + rotated(32) * sn, it)";

// Which head a box is of is looked up once.
TEST_F(CudaRotatedTest, SomeHeadsOfAProductMayStay) {
  const auto built = BuiltOf(kSomeHeads);
  ASSERT_EQ(built.launches.size(), 1u);
  EXPECT_EQ(built.launches[0].spill_load_bytes, 0);
  EXPECT_LE(built.launches[0].instructions.at("LDG.64"), 4);
}
TEST_F(RotatedOnDeviceTest, SomeHeadsOfAProductMayStay) { ExpectWhatItSays(std::string(kSomeHeads), 0x1p-7); }

TEST_F(CudaRotatedTest, WhatCannotBeIsSaid) {
  const auto complaint = [&](const Case& one) {
    const auto lowered = Lowered(Text(one));
    const auto* said = std::get_if<dsl::Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  const auto with = [](int distance, std::string_view settings, std::int64_t columns = 128) {
    return Case{2, 512, 512, 4, columns, distance, Heads::kApart, settings};
  };
  EXPECT_EQ(complaint(with(64, "")), "taken");
  EXPECT_EQ(complaint(with(40, "")),
            "'rotated' takes how far apart the columns of a pair are, a power of two up to 128, or 24, 48 or 96: try "
            "rotated(64)");
  EXPECT_EQ(complaint(with(48, "tile: 128x256", 96)),
            "'tile' 128x256: pairs of columns are rotated in every 96, which a tile has as a whole; try 128x192");
  EXPECT_EQ(
      complaint(with(128, "")),
      "'rotated(128)' rotates pairs in every 256 columns, of which 128 are no multiple: make heads of 256 columns "
      "batches of B, or write it as a nest");
  EXPECT_EQ(complaint(with(64, "tile: 128x64")),
            "'tile' 128x64: pairs of columns are rotated in every 128, which a tile has as a whole; try 128x128");
  EXPECT_EQ(complaint(with(64, "split: 2")), "'split' 2: parts of K are added up where one column of a pair is; try 1");
  EXPECT_EQ(complaint(with(64, "precision: simt")),
            "'precision' simt: it has no two columns of a pair at hand: the tiles of bf16, f16 and f32x3 of a CUDA "
            "device rotate; try bf16");
  EXPECT_EQ(complaint(with(32, "end: tiles", 96)),
            "'rotated(32)' rotates pairs in every 64 columns, of which 96 are no multiple: make heads of 64 columns "
            "batches of B, or write it as a nest");
  EXPECT_EQ(complaint(with(8, "end: tiles", 16)),
            "'end' tiles: tiles leave in 64 columns of one head, which are no multiple; try lines");
  // Of batches that have an A each, columns are not those of one product.
  const auto lowered = Lowered(
      "input x: bf16[4, 512, 64]\ninput w: bf16[4, 64, 64]\noutput y: bf16[512, 4, 64]\n"
      "y = matmul(x, w) by {heads: 1} -> it + rotated(64)");
  ASSERT_TRUE(std::holds_alternative<dsl::Complaint>(lowered));
  EXPECT_NE(std::get<dsl::Complaint>(lowered).message.find(
                "the columns of a pair are of batches that are multiplied by themselves"),
            std::string::npos)
      << std::get<dsl::Complaint>(lowered).message;
}

// Without what other tests have: packed operands, clusters and turns.
TEST_F(RotatedOnHostTest, BlocksComputeWhatTheySay) {
  for (const Case& one : kCases) {
    if (one.rows > 512 || one.type == "f32" || one.settings.find("turns") != std::string_view::npos ||
        one.settings.find("cluster") != std::string_view::npos)
      continue;
    ExpectBlocksSay(Text(one), 1e-2);
  }
  ExpectBlocksSay(kSomeHeads, 1e-2);
}

TEST_F(RotatedOnDeviceTest, EveryWayComputesWhatItSays) {
  for (const Case& one : kCases) {
    if (one.rows > 512) continue;  // too many for the interpreter
    const std::string text = Text(one);
    SCOPED_TRACE(text);
    ExpectWhatItSays(text, one.type == "f32" && one.settings.find("f32x3") != std::string_view::npos ? 2e-5 : 1e-2);
  }
}

// Heads are columns of one product where nothing is rotated, too.
TEST_F(RotatedOnDeviceTest, HeadsThatShareAAreOneProduct) {
  const std::string text =
      "input x: bf16[2, 1, 150, 40]\ninput w: bf16[5, 64, 40]\nview b = w: [5, 40, 64] strides [2560, 1, 40]\n"
      "input r: f32[5, 1, 64]\noutput y: bf16[2, 5, 150, 64]\noutput z: bf16[2, 150, 5, 64]\n"
      "y = matmul(x, b) with {{{}}} -> it + r\nz = matmul(x, b) by {{heads: 1}} with {{{}}}";
  for (const char* settings :
       {"precision: bf16, tile: 128x256, end: tiles", "precision: bf16, tile: 64x128, end: lines",
        "precision: bf16, tile: 64x64, split: 2", "precision: simt", "precision: dot"}) {
    SCOPED_TRACE(settings);
    ExpectWhatItSays(fmt::format(fmt::runtime(text), settings, settings), 1e-2);
  }
}

}  // namespace
}  // namespace hone
