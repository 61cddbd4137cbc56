// Convolutions as products on the tensor cores: every kind compiles and fits the device without spills; run on the
// host, blocks compute what the program says; on a device the whole program does. The last is skipped where there is
// none.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "dsl/testing/device_blocks.h"
#include "dsl/testing/device_program.h"

namespace hone {
namespace {

// Of [n, c, h, w] with o filters of `window` squared, all of them with their channels last in memory.
std::string Lying(std::string_view type, int n, int c, int h, int w, int o, int window, int out_h, int out_w,
                  const std::string& rest) {
  return fmt::format(
      "input image: {0}[{1}, {3}, {4}, {2}]\ninput filters: {0}[{5}, {6}, {6}, {2}]\ninput b: {0}[{5}]\n"
      "output y: {0}[{1}, {5}, {7}, {8}]\n"
      "view x = image: [{1}, {2}, {3}, {4}] strides [{9}, 1, {10}, {2}]\n"
      "view f = filters: [{5}, {2}, {6}, {6}] strides [{11}, 1, {12}, {2}]\n"
      "view c = b: [{5}, 1, 1] strides [1, 0, 0]\n{13}",
      type, n, c, h, w, o, window, out_h, out_w, h * w * c, w * c, window * window * c, window * c, rest);
}

using ConvBlocksTest = dsl::testing::DeviceBlocksTest;

TEST_F(ConvBlocksTest, PixelsAreColumnsOfProducts) {
  const std::string tiles = " with {path: tiles, tile: 64x64, split: 1} -> it * 0.5 + c";
  ExpectBlocksSay(Lying("bf16", 2, 32, 9, 11, 24, 3, 9, 11, "y = conv(x, f) by {padding: 1}" + tiles), 1e-2);
  // Steps, holes, more rows of padding than in front, and fewer.
  ExpectBlocksSay(
      Lying("f16", 1, 72, 12, 10, 16, 3, 6, 5, "y = conv(x, f) by {padding: 1, stride: 2, extent: 6x5}" + tiles), 2e-3);
  ExpectBlocksSay(
      Lying("bf16", 3, 8, 10, 7, 8, 3, 8, 5, "y = conv(x, f) by {padding: 1x2, dilation: 2x3, extent: 8x5}" + tiles),
      1e-2);
}

TEST_F(ConvBlocksTest, TilesLeaveByTheCopyEngineAndBlocksShareThem) {
  ExpectBlocksSay(Lying("f16", 2, 64, 8, 16, 136, 3, 8, 16,
                        "y = conv(x, f) by {padding: 1} with {path: tiles, tile: 128x128, cluster: 2, leaves: tiles, "
                        "split: 1} -> it * 0.5 + c"),
                  2e-3);
}

// Whole boxes of columns, and half of one.
TEST_F(ConvBlocksTest, TilesOf96And160ColumnsLeaveInLines) {
  for (const std::string_view tile : {"64x96", "128x160"}) {
    ExpectBlocksSay(Lying("f16", 2, 24, 9, 11, 72, 3, 9, 11,
                          fmt::format("y = conv(x, f) by {{padding: 1}} with {{path: tiles, tile: {}, split: 1}} -> it "
                                      "* 0.5 + c",
                                      tile)),
                    2e-3);
  }
  ExpectBlocksSay(
      "input image: f16[2, 6, 7, 16]\ninput filters: f16[104, 3, 3, 16]\ninput more: f16[16, 1, 1, 104]\n"
      "output y: f16[2, 16, 6, 7]\n"
      "view x = image: [2, 16, 6, 7] strides [672, 1, 112, 16]\n"
      "view f = filters: [104, 16, 3, 3] strides [144, 1, 48, 16]\n"
      "view g = more: [16, 104, 1, 1] strides [104, 1, 104, 104]\n"
      "h: f16 = conv(x, f) by {padding: 1} with {path: tiles, tile: 64x96, layout: channels_last} -> it * 0.25\n"
      "y = conv(h, g) with {path: tiles, tile: 64x96, layout: channels_first}",
      4e-3);
}

TEST_F(ConvBlocksTest, PixelsAreRowsOfProductsWhereChannelsLieLast) {
  ExpectBlocksSay(
      "input image: f16[2, 6, 7, 16]\ninput filters: f16[24, 3, 3, 16]\ninput more: f16[16, 1, 1, 24]\n"
      "output y: f16[2, 16, 6, 7]\n"
      "view x = image: [2, 16, 6, 7] strides [672, 1, 112, 16]\n"
      "view f = filters: [24, 16, 3, 3] strides [144, 1, 48, 16]\n"
      "view g = more: [16, 24, 1, 1] strides [24, 1, 24, 24]\n"
      "h: f16 = conv(x, f) by {padding: 1} with {path: tiles, tile: 64x64, layout: channels_last} -> it * 0.25\n"
      "y = conv(h, g) with {path: tiles, tile: 64x64, layout: channels_first}",
      4e-3);
}

TEST_F(ConvBlocksTest, FloatsAreRoundedToTf32) {
  ExpectBlocksSay(Lying("f32", 2, 36, 5, 6, 8, 3, 5, 6,
                        "y = conv(x, f) by {padding: 1} with {path: tiles, precision: tf32, tile: 64x64} -> it + c"),
                  2e-3);
}

// One and three spatial dimensions, groups, weights that go round backwards.
TEST_F(ConvBlocksTest, OtherKinds) {
  ExpectBlocksSay(
      "input image: bf16[3, 50, 16]\ninput filters: bf16[8, 5, 16]\noutput y: bf16[3, 8, 25]\n"
      "view x = image: [3, 16, 50] strides [800, 1, 16]\nview f = filters: [8, 16, 5] strides [80, 1, 16]\n"
      "y = conv(x, f) by {padding: 2, stride: 2} with {path: tiles, tile: 64x64}",
      1e-2);
  ExpectBlocksSay(
      "input image: f16[2, 4, 5, 6, 8]\ninput filters: f16[8, 3, 3, 3, 8]\noutput y: f16[2, 8, 4, 5, 6]\n"
      "view x = image: [2, 8, 4, 5, 6] strides [960, 1, 240, 48, 8]\n"
      "view f = filters: [8, 8, 3, 3, 3] strides [216, 1, 72, 24, 8]\n"
      "y = conv(x, f) by {padding: 1} with {path: tiles, tile: 64x64}",
      2e-3);
  ExpectBlocksSay(
      "input image: f16[2, 6, 7, 32]\ninput filters: f16[16, 3, 3, 16]\noutput y: f16[2, 16, 6, 7]\n"
      "view x = image: [2, 32, 6, 7] strides [1344, 1, 224, 32]\n"
      "view f = filters: [16, 16, 3, 3] strides [144, 1, 48, 16]\n"
      "y = conv(x, f) by {padding: 1, groups: 2} with {path: tiles, tile: 64x64}",
      2e-3);
}

// Few channels are copied beside those of a whole row of the window, others rounded up, weights turned round.
TEST_F(ConvBlocksTest, OperandsAreCopiedWhereTheyLieOtherwise) {
  ExpectBlocksSay(
      "input x: f16[2, 3, 11, 12]\ninput w: f16[8, 3, 5, 3]\noutput y: f16[2, 8, 6, 6]\n"
      "y = conv(x, w) by {padding: 2x1, stride: 2} with {path: tiles, tile: 64x64}",
      2e-3);
  ExpectBlocksSay(
      "input x: f32[2, 3, 9, 30]\ninput w: f32[8, 3, 2, 11]\noutput y: f32[2, 8, 8, 6]\n"
      "y = conv(x, w) by {padding: 0x1, stride: 1x4} with {path: tiles, precision: tf32, tile: 64x64}",
      2e-3);
  ExpectBlocksSay(
      "input x: f16[2, 12, 5, 8]\ninput w: f16[16, 12, 3, 3]\noutput y: f16[2, 16, 5, 8]\n"
      "y = conv(x, w) by {padding: 1} with {path: tiles, window: rows, tile: 64x64}",
      1e-2);
  ExpectBlocksSay(
      "input x: f16[2, 12, 5, 6]\ninput w: f16[12, 8, 3, 2]\noutput y: f16[2, 8, 5, 7]\n"
      "y = conv transposed(x, w) by {padding: 1x0} with {path: tiles, tile: 64x64}",
      2e-3);
}

// Windows that do not overlap, or hardly: patches, whatever their stride, of images and of tokens.
TEST_F(ConvBlocksTest, WholeWindowsAreCopiedSideBySideWhereTheyLieFarApart) {
  ExpectBlocksSay(
      "input x: f16[2, 3, 28, 42]\ninput w: f16[24, 3, 14, 14]\ninput b: f16[24]\noutput y: f16[2, 24, 2, 3]\n"
      "view c = b: [24, 1, 1] strides [1, 0, 0]\n"
      "y = conv(x, w) by {stride: 14} with {path: tiles, tile: 64x64} -> it + c",
      1e-2);
  ExpectBlocksSay(
      "input x: f16[2, 16, 20, 23]\ninput w: f16[8, 16, 10, 12]\noutput y: f16[2, 8, 3, 3]\n"
      "y = conv(x, w) by {padding: 2x3, stride: 9x10, extent: 3x3} with {path: tiles, tile: 64x64}",
      2e-2);
  ExpectBlocksSay(
      "input x: f32[3, 5, 64]\ninput w: f32[8, 5, 9]\noutput y: f32[3, 8, 5]\n"
      "y = conv(x, w) by {stride: 11, dilation: 2} with {path: tiles, precision: tf32, tile: 64x64}",
      2e-3);
  ExpectBlocksSay(
      "input x: f16[2, 24, 8, 12]\ninput w: f16[16, 24, 4, 4]\noutput y: f16[2, 16, 2, 3]\n"
      "y = conv(x, w) by {stride: 4} with {path: tiles, window: whole, tile: 64x64}",
      1e-2);
  // Few channels, whose pixels lie side by side; an edge that no window reaches; rows of windows.
  ExpectBlocksSay(
      "input x: f16[2, 3, 8, 14]\ninput w: f16[16, 3, 4, 4]\noutput y: f16[2, 16, 2, 3]\n"
      "y = conv(x, w) by {stride: 4} with {path: tiles, window: whole, tile: 64x64}",
      1e-2);
  ExpectBlocksSay(
      "input x: f16[2, 4, 8, 12]\ninput w: f16[16, 4, 4, 4]\noutput y: f16[2, 16, 2, 3]\n"
      "y = conv(x, w) by {stride: 4} with {path: tiles, window: rows, tile: 64x64}",
      1e-2);
}

// Several groups are made by one product, whose weights are zeros between them; all of them where channels lie last.
TEST_F(ConvBlocksTest, GroupsOfFewChannelsAreMadeTogether) {
  for (const char* layout : {"", ", layout: channels_last"}) {
    ExpectBlocksSay(
        fmt::format(
            "input x: f16[2, 48, 5, 6]\ninput w: f16[48, 24, 3, 3]\ninput b: f16[48]\noutput y: f16[2, 48, 5, 6]\n"
            "view c = b: [48, 1, 1] strides [1, 0, 0]\n"
            "y = conv(x, w) by {{padding: 1, groups: 2}} with {{path: tiles, tile: 64x64{}}} -> relu(it + c)",
            layout),
        1e-2);
  }
  ExpectBlocksSay(
      "input x: bf16[1, 96, 4, 5]\ninput w: bf16[192, 4, 3, 3]\noutput y: bf16[1, 192, 4, 5]\n"
      "y = conv(x, w) by {padding: 1, groups: 24} with {path: tiles, tile: 64x64}",
      2e-2);
  ExpectBlocksSay(
      "input x: f32[1, 80, 5, 5]\ninput w: f32[40, 8, 3, 3]\noutput y: f32[1, 40, 5, 5]\n"
      "y = conv(x, w) by {padding: 1, groups: 10} with {path: tiles, precision: tf32, layout: channels_last}",
      2e-2);
  // A result that leaves the program cannot stay last, and its weights are those of fewer groups.
  ExpectBlocksSay(
      "input x: f32[1, 80, 5, 5]\ninput w: f32[16, 40, 3, 3]\noutput y: f32[1, 16, 5, 5]\n"
      "y = conv(x, w) by {padding: 1, groups: 2} with {path: tiles, precision: tf32, layout: channels_last}",
      2e-2);
  ExpectBlocksSay(
      "input x: bf16[2, 84, 5, 5]\ninput w: bf16[140, 12, 3, 3]\ninput v: bf16[16, 140, 1, 1]\n"
      "output y: bf16[2, 16, 2, 2]\n"
      "h: bf16 = conv(x, w) by {stride: 2, groups: 7} with {path: tiles, layout: channels_last} -> relu(it)\n"
      "y = conv(h, v) with {path: tiles}",
      3e-2);
}

// Stages then have equal parts of them.
TEST_F(ConvBlocksTest, GroupsMayHaveMoreChannelsThanAStageDivides) {
  ExpectBlocksSay(
      "input image: f32[2, 20, 96]\ninput filters: f32[32, 5, 48]\noutput y: f32[2, 32, 20]\n"
      "view x = image: [2, 96, 20] strides [1920, 1, 96]\nview f = filters: [32, 48, 5] strides [240, 1, 48]\n"
      "y = conv(x, f) by {padding: 2, groups: 2} with {path: tiles, precision: tf32, tile: 64x64}",
      2e-3);
  ExpectBlocksSay(
      "input image: f16[1, 20, 160]\ninput filters: f16[16, 3, 80]\noutput y: f16[1, 16, 20]\n"
      "view x = image: [1, 160, 20] strides [3200, 1, 160]\nview f = filters: [16, 80, 3] strides [240, 1, 80]\n"
      "y = conv(x, f) by {padding: 1, groups: 2} with {path: tiles, tile: 64x64}",
      1e-2);
}

// Phases of a transposed one: each product leaves at places that lie apart; dilations at which some phases see nothing,
// more outputs than phases divide, groups, and one to three dimensions. The chain may read pixels.
TEST_F(ConvBlocksTest, TransposedOnesWithGapsAreAProductForEachPhase) {
  ExpectBlocksSay(
      "input x: f16[2, 12, 5, 6]\ninput w: f16[12, 8, 3, 3]\ninput b: f16[8]\noutput y: f16[2, 8, 10, 12]\n"
      "view c = b: [8, 1, 1] strides [1, 0, 0]\n"
      "y = conv transposed(x, w) by {padding: 1, stride: 2, output_padding: 1} with {path: tiles, tile: 64x64} -> it * "
      "2 + c",
      2e-3);
  ExpectBlocksSay(
      "input x: f32[2, 3, 9]\ninput w: f32[3, 16, 5]\noutput y: f32[2, 16, 29]\n"
      "y = conv transposed(x, w) by {stride: 3} with {path: tiles, precision: tf32, tile: 64x64}",
      2e-3);
  ExpectBlocksSay(
      "input x: f16[1, 16, 7]\ninput w: f16[16, 8, 6]\noutput y: f16[1, 8, 28]\n"
      "y = conv transposed(x, w) by {padding: 1, stride: 4} with {path: tiles, tile: 64x64}",
      2e-3);
  ExpectBlocksSay(
      "input x: f16[2, 16, 4, 3]\ninput w: f16[16, 8, 3, 3]\noutput y: f16[2, 8, 9, 7]\n"
      "y = conv transposed(x, w) by {padding: 1, stride: 2, dilation: 2} with {path: tiles, tile: 64x64}",
      2e-3);
  ExpectBlocksSay(
      "input x: f16[2, 32, 3, 4]\ninput w: f16[32, 8, 3, 5]\noutput y: f16[2, 16, 5, 12]\n"
      "y = conv transposed(x, w) by {padding: 1x1, stride: 2x3, groups: 2} with {path: tiles, tile: 64x64}",
      2e-3);
  ExpectBlocksSay(
      "input x: f16[2, 16, 3, 4, 3]\ninput w: f16[16, 8, 3, 3, 4]\noutput y: f16[2, 8, 6, 8, 6]\n"
      "y = conv transposed(x, w) by {padding: 1, stride: 2, output_padding: 1x1x0} with {path: tiles, tile: 64x64}",
      2e-3);
  ExpectBlocksSay(
      "input x: f32[2, 8, 4, 5]\ninput w: f32[8, 8, 3, 3]\ninput r: f32[2, 8, 8, 10]\ninput b: f32[8]\n"
      "output y: f32[2, 8, 8, 10]\nview c = b: [8, 1, 1] strides [1, 0, 0]\n"
      "y = conv transposed(x, w) by {padding: 1, stride: 2, output_padding: 1} with {path: tiles, precision: tf32, "
      "tile: "
      "64x64} -> relu(it + c) * r",
      2e-3);
  ExpectBlocksSay(
      "input x: f32[2, 8, 4, 5]\ninput w: f32[8, 8, 3, 3]\ninput r: f32[2, 8, 8, 10]\ninput s: f32[2, 8, 8, 10]\n"
      "output y: f32[2, 8, 8, 10]\n"
      "y = conv transposed(x, w) by {padding: 1, stride: 2, output_padding: 1} with {path: tiles, precision: tf32, "
      "tile: 64x64} -> relu(it + r) * s",
      2e-3);
  ExpectBlocksSay(
      "input x: f16[2, 32, 4, 5]\ninput w: f16[32, 8, 3, 3]\ninput s: f16[3, 2, 16, 7, 13]\n"
      "output y: f16[2, 16, 7, 13]\nview r = s: [2, 16, 7, 13] strides [1456, 91, 13, 1] offset 2912\n"
      "y = conv transposed(x, w) by {padding: 1x2, stride: 2x3, groups: 2, output_padding: 0x2} with {path: tiles, "
      "tile: 64x64} -> it + r",
      2e-3);
}

// As they come: images and weights are copied.
constexpr std::string_view kPrograms[] = {
    "input x: bf16[3, 64, 14, 14]\ninput w: bf16[128, 64, 3, 3]\ninput b: bf16[128]\noutput y: bf16[3, 128, 14, 14]\n"
    "view c = b: [128, 1, 1] strides [1, 0, 0]\n"
    "y = conv(x, w) by {padding: 1} with {path: tiles} -> silu(it + c)",
    "input x: bf16[3, 64, 14, 14]\ninput w: bf16[64, 64, 3, 3]\ninput r: bf16[3, 64, 14, 14]\n"
    "output y: bf16[3, 64, 14, 14]\n"
    "y = conv(x, w) by {padding: 1} with {path: tiles, layout: channels_last} -> relu(it + r)",
    "input x: f16[3, 3, 50, 50]\ninput w: f16[64, 3, 7, 7]\noutput y: f16[3, 64, 25, 25]\n"
    "y = conv(x, w) by {padding: 3, stride: 2} with {path: tiles}",
    "input x: f16[8, 3, 64, 64]\nparam w: f16[72, 3, 16, 16]\nparam b: f16[72]\noutput y: f16[8, 72, 4, 4]\n"
    "view c = b: [72, 1, 1] strides [1, 0, 0]\ny = conv(x, w) by {stride: 16} with {path: tiles} -> it + c",
    "input x: f16[5, 20, 17, 19]\ninput w: f16[33, 20, 3, 2]\noutput y: f16[5, 33, 16, 9]\n"
    "y = conv(x, w) by {padding: 1x0, stride: 1x2, extent: 16x9} with {path: tiles, split: 2} -> it * 2",
    "input x: f16[2, 24, 12, 10]\ninput w: f16[24, 16, 3, 3]\noutput y: f16[2, 16, 12, 10]\n"
    "y = conv transposed(x, w) by {padding: 1} with {path: tiles}",
    "input x: bf16[2, 128, 10, 12]\ninput w: bf16[128, 64, 4, 4]\ninput b: bf16[64]\noutput y: bf16[2, 64, 20, 24]\n"
    "view c = b: [64, 1, 1] strides [1, 0, 0]\n"
    "y = conv transposed(x, w) by {padding: 1, stride: 2} with {path: tiles} -> gelu(it + c)",
    "input x: f32[2, 32, 5, 6]\ninput w: f32[32, 64, 3, 3]\ninput r: f32[2, 64, 9, 12]\noutput y: f32[2, 64, 9, 12]\n"
    "y = conv transposed(x, w) by {padding: 1, stride: 2, output_padding: 0x1} with {path: tiles, precision: tf32} -> "
    "(it + r) * hardswish(it + r)",
    "input x: f16[2, 32, 5, 6, 7]\ninput w: f16[32, 8, 3, 5, 7]\noutput y: f16[2, 16, 10, 12, 14]\n"
    "y = conv transposed(x, w) by {padding: 1x2x3, stride: 2, groups: 2, output_padding: 1} with {path: tiles}",
    "input x: f16[3, 16, 30, 30]\ninput w: f16[64, 16, 3, 3]\noutput y: f16[3, 64, 30, 30]\n"
    "y = conv(x, w) by {padding: 1} with {path: tiles, window: rows} -> it * 2",
    "input x: f16[2, 24, 300]\ninput w: f16[16, 24, 5]\noutput y: f16[2, 16, 300]\n"
    "y = conv(x, w) by {padding: 4, dilation: 2} with {path: tiles}",
    "input x: bf16[2, 16, 6, 12, 9]\ninput w: bf16[32, 16, 3, 3, 3]\noutput y: bf16[2, 32, 6, 12, 9]\n"
    "y = conv(x, w) by {padding: 1} with {path: tiles} -> tanh(it)",
    "input x: f16[2, 128, 9, 9]\ninput w: f16[64, 64, 3, 3]\noutput y: f16[2, 64, 9, 9]\n"
    "y = conv(x, w) by {padding: 1, groups: 2} with {path: tiles}",
    "input x: bf16[2, 120, 14, 14]\ninput w: bf16[120, 24, 3, 3]\noutput y: bf16[2, 120, 7, 7]\n"
    "y = conv(x, w) by {padding: 1, groups: 5, stride: 2} with {path: tiles, layout: channels_last} -> relu(it)",
    "input x: f16[2, 128, 10, 9]\ninput w: f16[128, 4, 3, 3]\noutput y: f16[2, 128, 10, 9]\n"
    "y = conv(x, w) by {padding: 1, groups: 32} with {path: tiles}",
    // An end that is another one for each image.
    "input x: bf16[3, 32, 10, 10]\ninput w: bf16[64, 32, 3, 3]\ninput t: bf16[3, 64]\noutput y: bf16[3, 64, 10, 10]\n"
    "view s = t: [3, 64, 1, 1] strides [64, 1, 0, 0]\n"
    "y = conv(x, w) by {padding: 1} with {path: tiles} -> it + s",
    "input x: bf16[3, 32, 10, 10]\ninput w: bf16[64, 32, 3, 3]\ninput v: bf16[32, 64, 1, 1]\ninput t: bf16[3, 64]\n"
    "output y: bf16[3, 32, 10, 10]\nview s = t: [3, 64, 1, 1] strides [64, 1, 0, 0]\n"
    "h: bf16 = conv(x, w) by {padding: 1} with {path: tiles, layout: channels_last} -> it + s\n"
    "y = conv(h, v) with {path: tiles}",
    // Added as it lies, channels last.
    "input x: bf16[3, 32, 10, 10]\ninput w: bf16[64, 32, 3, 3]\ninput v: bf16[64, 64, 3, 3]\ninput u: bf16[32, 64, 1, "
    "1]\n"
    "output y: bf16[3, 32, 10, 10]\n"
    "h: bf16 = conv(x, w) by {padding: 1} with {path: tiles, layout: channels_last}\n"
    "z: bf16 = conv(h, v) by {padding: 1} with {path: tiles, layout: channels_last} -> relu(it + h)\n"
    "y = conv(z, u) with {path: tiles}",
};
constexpr std::string_view kFloats[] = {
    // What is added is read by fours a part of the columns ahead, one by one, and two of them as a part begins.
    "input x: f32[2, 32, 12, 12]\ninput w: f32[64, 32, 3, 3]\ninput r: f32[2, 64, 12, 12]\n"
    "output y: f32[2, 64, 12, 12]\n"
    "y = conv(x, w) by {padding: 1} with {path: tiles, precision: tf32, tile: 64x256} -> relu(it + r)",
    "input x: f32[2, 32, 9, 9]\ninput w: f32[64, 32, 3, 3]\ninput r: f32[2, 64, 9, 9]\noutput y: f32[2, 64, 9, 9]\n"
    "y = conv(x, w) by {padding: 1} with {path: tiles, precision: tf32, tile: 128x128, turns: yes} -> relu(it + r)",
    "input x: f32[2, 32, 12, 12]\ninput w: f32[64, 32, 3, 3]\ninput r: f32[2, 64, 12, 12]\n"
    "input s: f32[2, 64, 12, 12]\noutput y: f32[2, 64, 12, 12]\n"
    "y = conv(x, w) by {padding: 1} with {path: tiles, precision: tf32, tile: 128x256} -> relu(it + r) * s",
    "input x: f32[2, 64, 14, 14]\ninput w: f32[128, 64, 3, 3]\ninput b: f32[128]\noutput y: f32[2, 128, 14, 14]\n"
    "view c = b: [128, 1, 1] strides [1, 0, 0]\n"
    "y = conv(x, w) by {padding: 1} with {path: tiles, precision: tf32} -> gelu(it + c)",
    "input x: f32[2, 3, 32, 32]\ninput w: f32[16, 3, 3, 3]\noutput y: f32[2, 16, 30, 30]\n"
    "y = conv(x, w) with {path: tiles, precision: tf32, layout: channels_last} -> hardswish(relu(it))",
};

class ConvTilesTest : public testing::CudaProgramTest {
 protected:
  static void ExpectBuilds(std::string_view text) {
    SCOPED_TRACE(text);
    const auto built = BuiltOf(text);
    for (const auto& kernel : built.launches) EXPECT_EQ(kernel.spill_load_bytes + kernel.spill_store_bytes, 0);
    EXPECT_EQ(built.log.find("C75"), std::string::npos) << built.log;
  }
  static std::string Why(std::string_view text) {
    const auto lowered = Lowered(text);
    const auto* complaint = std::get_if<dsl::Complaint>(&lowered);
    return complaint ? complaint->message : "";
  }
};
using ConvTilesOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(ConvTilesTest, EveryKindCompilesAndFits) {
  for (const auto text : kPrograms) ExpectBuilds(text);
  for (const auto text : kFloats) ExpectBuilds(text);
}

TEST_F(ConvTilesTest, EverySettingCompilesWithoutSpills) {
  for (const std::string layout : {"channels_first", "channels_last"}) {
    for (const std::string tile : {"128x256", "64x256"}) {
      for (const std::string rest : {"leaves: tiles, cluster: 2", "leaves: lines", "split: 3", "turns: yes"}) {
        if (rest == "turns: yes" && tile.starts_with("64")) continue;
        ExpectBuilds(fmt::format(
            "input x: bf16[8, 96, 32, 32]\nparam w: bf16[320, 96, 3, 3]\nparam b: bf16[320]\n"
            "output y: bf16[8, 320, 32, 32]\nview c = b: [320, 1, 1] strides [1, 0, 0]\n"
            "y = conv(x, w) by {{padding: 1}} with {{path: tiles, layout: {}, tile: {}, {}}} -> silu(it + c)",
            layout, tile, rest));
      }
    }
  }
}

TEST_F(ConvTilesTest, TilesOf64OutputsAreMadeInTurnsUnlessTheirEndComesInStages) {
  const auto tile_of = [](std::string_view type, std::string_view end) {
    const auto lowered = Lowered(
        fmt::format("input x: {0}[64, 64, 56, 56]\nparam w: {0}[64, 64, 3, 3]\ninput r: {0}[64, 64, 56, 56]\n"
                    "output y: {0}[64, 64, 56, 56]\ny = conv(x, w) by {{padding: 1}} with {{path: tiles{1}}} -> {2}",
                    type, type == "f32" ? ", precision: tf32" : "", end));
    const dsl::Kernel& conv = std::get<dsl::KernelProgram>(lowered).kernels[0];
    return fmt::format("{}{}", fmt::join(dsl::TupleSetting(conv, "tile"), "x"),
                       conv.settings.contains("turns") ? ", turns: " + dsl::WordSetting(conv, "turns") : "");
  };
  EXPECT_EQ(tile_of("bf16", "relu(it)"), "128x256, turns: yes");
  EXPECT_EQ(tile_of("f32", "it + r"), "128x256, turns: yes");
  EXPECT_EQ(tile_of("bf16", "it + r"), "64x256");
}

TEST_F(ConvTilesTest, WhatItCannotMakeIsSaidInALine) {
  const auto with = [](std::string_view x, std::string_view w, std::string_view by, std::string_view y) {
    return Why(fmt::format("input x: {}\nparam w: {}\noutput y: {}\ny = conv{} with {{path: tiles}}", x, w, y, by));
  };
  EXPECT_NE(with("f32[2, 8, 9, 9]", "f32[8, 8, 1, 1]", "(x, w)", "f32[2, 8, 9, 9]").find("set 'precision: tf32'"),
            std::string::npos);
  EXPECT_NE(with("f16[2, 8, 9, 9]", "f16[4, 8, 1, 1]", "(x, w)", "f16[2, 4, 9, 9]").find("fewer than 8 outputs"),
            std::string::npos);
  EXPECT_NE(Why("input x: f16[2, 8, 9, 9]\nparam w: f16[8, 8, 2, 2]\noutput y: f16[2, 8, 18, 18]\n"
                "y = conv transposed(x, w) by {stride: 2} with {path: tiles, layout: channels_last}")
                .find("phases of a transposed one do not lie side by side; try"),
            std::string::npos);
  EXPECT_NE(with("f16[2, 4, 9, 9]", "f16[16, 2, 1, 1]", "(x, w) by {groups: 2}", "f16[2, 16, 9, 9]")
                .find("groups have a multiple of 16 channels"),
            std::string::npos);
  EXPECT_NE(Why("input x: f16[2, 64, 9, 9]\nparam w: f16[8, 64, 3, 3]\noutput y: f16[2, 8, 7, 7]\n"
                "y = conv(x, w) with {path: tiles, window: rows}")
                .find("does not lie side by side; try places"),
            std::string::npos);
  EXPECT_NE(Why("input x: f16[2, 64, 9, 9]\nparam w: f16[8, 64, 3, 3]\noutput y: f16[2, 8, 7, 7]\n"
                "y = conv(x, w) with {path: tiles, window: whole}")
                .find("more than 4 times does not lie side by side; try places"),
            std::string::npos);
  EXPECT_NE(
      with("f16[2, 8, 9, 900]", "f16[8, 8, 1, 300]", "(x, w)", "f16[2, 8, 9, 601]").find("the copy engine reaches"),
      std::string::npos);
}

TEST_F(ConvTilesOnDeviceTest, TheyComputeWhatTheProgramSays) {
  for (const auto text : kPrograms) ExpectWhatItSays(text, 1e-2);
  for (const auto text : kFloats) ExpectWhatItSays(text, 2e-3);
}

}  // namespace
}  // namespace hone
