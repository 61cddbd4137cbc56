// Products of blocks with scales of their own: compiled without spills on the tensor cores, refused in a line where
// they cannot be, and what the program says. The last is skipped where there is no device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "dsl/testing/device_program.h"

namespace hone {
namespace {

// x has a scale for each of its rows and 128 of K, w one for 128 x 128, or as `block` has it.
struct Case {
  std::int64_t m, k, n;
  std::string settings = "", end = "it", result = "bf16";
  std::int64_t rows = 1, columns = 128, depth = 128;
};
std::string Text(const Case& one, const std::string& type = "f8e4m3") {
  const auto blocks = [](std::int64_t extent, std::int64_t size) { return (extent + size - 1) / size; };
  const std::int64_t r = blocks(one.m, one.rows), c = blocks(one.n, one.columns), d = blocks(one.k, one.depth);
  return fmt::format(
      "input x: {type}[{m}, {k}]\ninput w: {type}[{n}, {k}]\ninput sx: f32[{r}, {d}]\ninput sw: f32[{c}, {d}]\n"
      "input bias: f32[{n}]\noutput y: {result}[{m}, {n}]\nview wt = w: [{k}, {n}] strides [1, {k}]\n"
      "view sx_view = sx: [{r}, 1, {d}] strides [{d}, 0, 1]\n"
      "y = scaled_matmul(x, wt) by {{block: {rows}x{columns}x{depth}}}{settings} let scale = sx_view * sw -> {end}",
      fmt::arg("type", type), fmt::arg("m", one.m), fmt::arg("k", one.k), fmt::arg("n", one.n), fmt::arg("r", r),
      fmt::arg("c", c), fmt::arg("d", d), fmt::arg("rows", one.rows), fmt::arg("columns", one.columns),
      fmt::arg("depth", one.depth), fmt::arg("settings", one.settings.empty() ? "" : " with {" + one.settings + "}"),
      fmt::arg("end", one.end), fmt::arg("result", one.result));
}

// Whole tiles and what is left of them, of each width; blocks within a tile, across two, and larger than all there is.
const Case kCases[] = {
    {256, 512, 384},
    {300, 400, 272, "precision: f8, tile: 128x192", "relu(it + bias)"},
    {300, 400, 272, "precision: f8, tile: 128x128, cluster: 2, end: lines"},
    {300, 400, 200, "precision: f8, tile: 64x128, cluster: 2"},
    {200, 656, 264, "precision: f8, tile: 128x64, split: 2"},
    {300, 528, 264, "precision: f8, tile: 128x192", "it", "bf16", 128, 128, 256},
    {200, 528, 520, "precision: f8, tile: 128x128", "it + bias", "f16", 1, 64, 128},
    {200, 528, 520, "precision: f8, tile: 128x192", "it", "bf16", 600, 192, 128},
    {200, 528, 130, "precision: f8, end: lines", "it", "f32", 1, 130, 128},
    {300, 400, 272, "precision: f16", "it", "f32"},
    {200, 656, 264, "precision: f16, tile: 128x64, split: 2", "it + bias", "bf16", 64, 64, 64},
    {300, 400, 272, "precision: f16, tile: 64x128, cluster: 2", "it", "bf16", 1, 128, 256},
};

using ScaledMatmulTest = testing::CudaProgramTest;
using ScaledMatmulOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(ScaledMatmulTest, EveryCaseCompilesWithoutSpillsAndMultipliesOnTheTensorCores) {
  for (const Case& one : kCases) {
    const std::string text = Text(one);
    SCOPED_TRACE(text);
    const auto built = BuiltOf(text);
    ASSERT_FALSE(built.launches.empty());
    bool multiplies = false;
    for (const auto& launch : built.launches) {
      EXPECT_EQ(launch.spill_load_bytes + launch.spill_store_bytes, 0) << launch.name;
      multiplies |= launch.instructions.contains(text.find("precision: f16") == std::string::npos ? "QGMMA" : "HGMMA");
    }
    EXPECT_TRUE(multiplies);
    EXPECT_EQ(built.log.find("C75"), std::string::npos) << built.log;
  }
}

TEST_F(ScaledMatmulTest, ResultsOfSixteenBitsAreMadeOfEight) {
  const auto multiplies_eight = [&](const Case& one) {
    const auto built = BuiltOf(Text(one));
    return !built.launches.empty() && built.launches.back().instructions.contains("QGMMA");
  };
  EXPECT_TRUE(multiplies_eight({512, 512, 512}));
  EXPECT_FALSE(multiplies_eight({512, 512, 512, "", "it", "f32"}));
}

TEST_F(ScaledMatmulTest, WhatCannotBeIsSaid) {
  const auto complaint = [&](const std::string& statement, const std::string& type = "f8e4m3") {
    const auto lowered = Lowered(fmt::format(
        "input x: {0}[256, 512]\ninput w: {0}[512, 384]\ninput sx: f32[256, 1, 4]\ninput sw: f32[3, 4]\n"
        "output y: bf16[256, 384]\nview a = x: [256, 512] strides [512, 1]\nview b = w: [512, 384] strides [1, 512]\n"
        "y = scaled_matmul{1}",
        type, statement));
    const auto* said = std::get_if<dsl::Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  EXPECT_EQ(complaint("(a, b) by {block: 1x128x128} let s = sx * sw"), "taken");
  EXPECT_EQ(complaint("(a, b) let s = sx * sw"),
            "scaled_matmul of [256, 512] and [512, 384]: says what shares a scale by rows x columns x K: write 'by "
            "{block: 1x128x128}'");
  EXPECT_EQ(complaint("(a, b) by {block: 1x128x128}"),
            "scaled_matmul has one let, the scale of a block, and here are 0: write 'let scale = a * b'");
  EXPECT_EQ(complaint("(a, b) by {block: 1x128x128} let s = it * sw"),
            "a block's scale is known before the products: there is no 'it' in it");
  EXPECT_EQ(complaint("(a, b) by {block: 1x128x128} let s = sx * sw -> it * s"),
            "'s' is a block's scale: behind the sum there is none any more");
  EXPECT_EQ(complaint("(a, b) by {block: 1x128x256} let s = sx * sw"),
            "'sx' of shape [256, 1, 4] does not broadcast to [256, 3, 2] here: make the extents equal or 1, or take a "
            "view");
  const auto said = complaint("(a, b) by {block: 1x128x128} with {precision: f8} let s = sx * sw", "f16");
  EXPECT_NE(said.find("it is for operands that are reals of 8 bits, lie along K"), std::string::npos) << said;
  const auto narrow = complaint("(a, b) by {block: 1x32x128} with {precision: f8} let s = sx");
  EXPECT_NE(narrow.find("32 columns share a scale"), std::string::npos) << narrow;
}

TEST_F(ScaledMatmulOnDeviceTest, ItComputesWhatTheProgramSays) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(Text(one));
    ExpectWhatItSays(Text(one), 0x1p-7);
  }
  ExpectWhatItSays(Text(kCases[1], "f8e5m2"), 0x1p-7);
}

}  // namespace
}  // namespace hone
