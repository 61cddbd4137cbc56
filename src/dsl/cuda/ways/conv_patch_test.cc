// Convolutions of few input channels from patches in shared memory: every kind compiles and fits the device; its
// blocks, run on the host, make what the program says, and so does a device; what it cannot make is refused in a line.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "dsl/testing/device_blocks.h"
#include "dsl/testing/device_program.h"

namespace hone {
namespace {

// With padding, stride and dilation; one, two and three dimensions; tiles that an image's edges cut, alone in their
// rows and several; channels by two with one that is none, and a last step that is not full; one part of the outputs,
// two, and some beyond the last eight; an image whose channels lie last. Transposed: with a stride of 1 and with
// several phases, of which some see nothing and some have no last element; lines that are written by fours; with places
// of the window between inputs.
constexpr std::string_view kPrograms[] = {
    "input x: f32[2, 3, 21, 30]\nparam w: f32[16, 3, 3, 3]\noutput y: f32[2, 16, 21, 30]\n"
    "y = conv(x, w) by {padding: 1} with {path: patch, precision: tf32}",
    "input x: f32[2, 3, 23, 31]\nparam w: f32[70, 3, 3, 3]\nparam b: f32[70]\noutput y: f32[2, 70, 12, 16]\n"
    "view c = b: [70, 1, 1] strides [1, 0, 0]\n"
    "y = conv(x, w) by {padding: 1, stride: 2} with {path: patch, precision: tf32, pixels: 64, rows: 2} -> relu(it + "
    "c)",
    "input x: f32[1, 3, 5, 9, 20]\nparam w: f32[24, 3, 3, 3, 3]\noutput y: f32[1, 24, 3, 7, 18]\n"
    "y = conv(x, w) with {path: patch, precision: tf32, pixels: 128, rows: 8}",
    "input x: f32[2, 5, 90]\nparam w: f32[9, 5, 7]\ninput r: f32[2, 9, 42]\noutput y: f32[2, 9, 42]\n"
    "y = conv(x, w) by {padding: 3, stride: 2, dilation: 2} with {path: patch, precision: tf32} -> it * r",
    "input x: f32[1, 8, 14, 14]\nparam w: f32[96, 8, 5, 3]\noutput y: f32[1, 96, 12, 14]\n"
    "y = conv(x, w) by {padding: 1x1} with {path: patch, precision: tf32, pixels: 64}",
    "input x: bf16[2, 3, 20, 22]\nparam w: bf16[32, 3, 3, 3]\nparam b: bf16[32]\noutput y: bf16[2, 32, 10, 11]\n"
    "view c = b: [32, 1, 1] strides [1, 0, 0]\n"
    "y = conv(x, w) by {padding: 1, stride: 2} with {path: patch} -> relu(it + c)",
    "input x: f16[1, 17, 40, 3]\nparam w: f16[64, 3, 7, 7]\noutput y: f16[1, 64, 8, 18]\n"
    "view v = x: [1, 3, 17, 40] strides [2040, 1, 120, 3]\n"
    "y = conv(v, w) by {padding: 2x1, stride: 2} with {path: patch, rows: 2}",
    "input x: bf16[3, 1, 16, 16]\nparam w: bf16[8, 1, 5, 5]\noutput y: bf16[3, 8, 16, 16]\n"
    "y = conv(x, w) by {padding: 2} with {path: patch, rows: 1}",
    "input x: f32[2, 3, 4, 6, 9]\nparam w: f32[3, 16, 3, 3, 3]\nparam b: f32[16]\noutput y: f32[2, 16, 7, 11, 17]\n"
    "view c = b: [16, 1, 1, 1] strides [1, 0, 0, 0]\n"
    "y = conv transposed(x, w) by {padding: 1, stride: 2} with {path: patch, precision: tf32} -> relu(it + c)",
    "input x: f32[1, 4, 11, 13]\nparam w: f32[4, 10, 5, 3]\ninput r: f32[1, 10, 25, 15]\noutput y: f32[1, 10, 25, 15]\n"
    "y = conv transposed(x, w) by {stride: 2x1} with {path: patch, precision: tf32, pixels: 64} -> it * r",
    "input x: f32[2, 5, 12, 16]\nparam w: f32[5, 24, 4, 4]\noutput y: f32[2, 24, 24, 32]\n"
    "y = conv transposed(x, w) by {padding: 1, stride: 2} with {path: patch, precision: tf32, rows: 4}",
    "input x: bf16[2, 8, 30]\nparam w: bf16[8, 12, 2]\noutput y: bf16[2, 12, 120]\n"
    "y = conv transposed(x, w) by {stride: 4, output_padding: 2} with {path: patch}",
    "input x: f16[1, 3, 9, 14]\nparam w: f16[3, 8, 3, 3]\noutput y: f16[1, 8, 21, 31]\n"
    "y = conv transposed(x, w) by {stride: 2, dilation: 2} with {path: patch}",
};
// The result stays with its channels last for who reads it.
constexpr std::string_view kLast[] = {
    "input x: bf16[2, 3, 18, 20]\nparam w: bf16[24, 3, 3, 3]\noutput y: bf16[2, 24, 9, 10]\n"
    "c = conv(x, w) by {padding: 1, stride: 2} with {path: patch, layout: channels_last} -> relu(it)\n"
    "y = map(c * 2)",
    "input x: bf16[2, 3, 7, 6]\nparam w: bf16[3, 24, 3, 3]\ninput r: bf16[2, 24, 13, 11]\noutput y: bf16[2, 24, 13, "
    "11]\n"
    "c = conv transposed(x, w) by {padding: 1, stride: 2} with {path: patch, layout: channels_last} -> it + r\n"
    "y = map(c * 2)",
};

using CudaPatchTest = testing::CudaProgramTest;
using PatchOnHostTest = dsl::testing::DeviceBlocksTest;
using PatchOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(CudaPatchTest, EveryKindCompilesAndFits) {
  for (const auto text : kPrograms) {
    SCOPED_TRACE(text);
    const auto lowered = Lowered(text);
    ASSERT_TRUE(std::holds_alternative<dsl::KernelProgram>(lowered)) << ToString(std::get<dsl::Complaint>(lowered));
    const auto built = Build(std::get<dsl::KernelProgram>(lowered));
    ASSERT_EQ(built.launches.size(), 1u);
    EXPECT_EQ(built.launches[0].spill_load_bytes, 0);
    EXPECT_EQ(built.launches[0].spill_store_bytes, 0);
  }
}

TEST_F(CudaPatchTest, ProductsAreTheTensorCoresAndLinesAreStoredWhole) {
  const auto lowered = Lowered(
      "input x: bf16[128, 3, 224, 224]\nparam w: bf16[16, 3, 3, 3]\noutput y: bf16[128, 16, 112, 112]\n"
      "y = conv(x, w) by {padding: 1, stride: 2} with {path: patch}");
  const auto built = Build(std::get<dsl::KernelProgram>(lowered));
  ASSERT_EQ(built.launches.size(), 1u);
  const auto& instructions = built.launches[0].instructions;
  EXPECT_TRUE(instructions.contains("HMMA"));
  EXPECT_TRUE(instructions.contains("LDGSTS"));
  EXPECT_TRUE(instructions.contains("STG.128"));
  EXPECT_FALSE(instructions.contains("STG.U16"));
}

// Where the library is, too: but not where nothing is read twice, where many grids would read the image, and where rows
// of products would be zeros.
TEST_F(CudaPatchTest, FirstConvolutionsAreItsOwn) {
  DeviceModel device = TypicalDevice();
  device.libraries.cudnn = true;
  const auto way = [&](std::string_view type, int channels, int made, int window, int stride) {
    const auto lowered = dsl::Lower(
        fmt::format(
            "program p\ninput x: {0}[2, {1}, 32, 32]\nparam w: {0}[{2}, {1}, {3}, {3}]\n"
            "output y: {0}[2, {2}, {4}, {4}]\ny = conv(x, w) by {{stride: {5}}} with {{precision: tf32}} -> relu(it)",
            type, channels, made, window, (32 - window) / stride + 1, stride),
        nullptr, device);
    const auto* program = std::get_if<dsl::KernelProgram>(&lowered);
    return program ? dsl::WordSetting(program->kernels.at(0), "path") : ToString(std::get<dsl::Complaint>(lowered));
  };
  EXPECT_EQ(way("bf16", 3, 16, 3, 2), "patch");
  EXPECT_EQ(way("bf16", 3, 64, 7, 2), "patch");
  EXPECT_EQ(way("f32", 3, 64, 3, 1), "patch");
  EXPECT_EQ(way("f16", 16, 64, 3, 1), "patch");
  EXPECT_EQ(way("bf16", 3, 96, 4, 4), "tiles");
  EXPECT_EQ(way("bf16", 4, 320, 3, 1), "tiles");
  EXPECT_NE(way("f32", 3, 6, 5, 1), "patch");
  EXPECT_NE(way("bf16", 32, 64, 3, 1), "patch");
  const auto transposed = [&](int channels) {
    const auto lowered = dsl::Lower(
        fmt::format(
            "program p\ninput x: f32[2, {0}, 16, 16]\nparam w: f32[{0}, 32, 3, 3]\noutput y: f32[2, 32, 33, 33]\n"
            "y = conv transposed(x, w) by {{stride: 2}} with {{precision: tf32}}",
            channels),
        nullptr, device);
    return dsl::WordSetting(std::get<dsl::KernelProgram>(lowered).kernels.at(0), "path");
  };
  EXPECT_EQ(transposed(3), "patch");
  EXPECT_EQ(transposed(16), "tiles");
}

TEST_F(CudaPatchTest, TilesAreAsManyRowsAsFillThem) {
  const auto cut = [&](int wide) {
    const auto lowered = Lowered(
        fmt::format("input x: bf16[8, 3, 120, {0}]\nparam w: bf16[64, 3, 3, 3]\noutput y: bf16[8, 64, 118, {1}]\n"
                    "y = conv(x, w) with {{path: patch, pixels: 128}}",
                    wide, wide - 2));
    return dsl::IntSetting(std::get<dsl::KernelProgram>(lowered).kernels.at(0), "rows");
  };
  EXPECT_EQ(cut(16), 8);
  EXPECT_EQ(cut(32), 4);
  EXPECT_EQ(cut(64), 2);
  EXPECT_EQ(cut(126), 1);
}

TEST_F(CudaPatchTest, WhatItCannotDoIsRefusedInALine) {
  const auto complaint = [&](std::string_view type, std::string_view w, std::string_view rest) {
    const auto lowered = Lowered(fmt::format(
        "input x: {0}[2, 8, 30, 30]\nparam w: {0}{1}\noutput y: {0}[2, 8, 30, 30]\ny = conv{2}", type, w, rest));
    const auto* said = std::get_if<dsl::Complaint>(&lowered);
    return said ? said->message : std::string("taken");
  };
  EXPECT_EQ(complaint("f32", "[8, 8, 3, 3]", "(x, w) by {padding: 1} with {path: patch, precision: tf32}"), "taken");
  EXPECT_NE(complaint("f32", "[8, 8, 3, 3]", "(x, w) by {padding: 1} with {path: patch}").find("made in TF32"),
            std::string::npos);
  EXPECT_NE(complaint("f64", "[8, 8, 3, 3]", "(x, w) by {padding: 1} with {path: patch}").find("both bf16"),
            std::string::npos);
  EXPECT_NE(complaint("f16", "[8, 1, 3, 3]", "(x, w) by {padding: 1, groups: 8} with {path: patch}").find("no groups"),
            std::string::npos);
  EXPECT_NE(complaint("f16", "[8, 8, 1, 3]", " transposed(x, w) by {stride: 1x3, extent: 30x30} with {path: patch}")
                .find("1, 2, 4"),
            std::string::npos);
  EXPECT_NE(complaint("f16", "[8, 8, 3, 3]", "(exp(x), w) by {padding: 1} with {path: patch}").find("in memory"),
            std::string::npos);
  EXPECT_NE(complaint("f16", "[8, 8, 3, 3]", "(x, w) by {padding: 1} with {path: patch, pixels: 100}").find("128"),
            std::string::npos);
  EXPECT_NE(complaint("f16", "[8, 8, 3, 3]", "(x, w) by {padding: 1} with {path: patch, rows: 20}").find("16"),
            std::string::npos);
  const auto large = Lowered(
      "input x: f32[2, 16, 64, 64]\nparam w: f32[512, 16, 7, 7]\noutput y: f32[2, 512, 58, 58]\n"
      "y = conv(x, w) with {path: patch, precision: tf32}");
  ASSERT_TRUE(std::holds_alternative<dsl::Complaint>(large));
  EXPECT_NE(std::get<dsl::Complaint>(large).message.find("bytes of shared memory"), std::string::npos);
}

TEST_F(PatchOnHostTest, BlocksMakeWhatTheProgramSays) {
  for (const auto text : kPrograms) ExpectBlocksSay(text, text.find("16[") == std::string_view::npos ? 2e-3 : 1e-2);
}

TEST_F(PatchOnHostTest, AResultWithItsChannelsLastIsWrittenSo) {
  for (const auto text : kLast) ExpectBlocksSay(text, 1e-2);
}

TEST_F(PatchOnDeviceTest, ItComputesWhatItsProgramSays) {
  for (const auto text : kPrograms) {
    SCOPED_TRACE(text);
    ExpectWhatItSays(text, 1e-2);
  }
}

}  // namespace
}  // namespace hone
