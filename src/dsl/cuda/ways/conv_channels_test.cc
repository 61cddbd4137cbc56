// Depthwise convolutions whose channels lie last, by threads of neighbouring channels.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "dsl/testing/device_blocks.h"
#include "dsl/testing/device_program.h"

namespace hone {
namespace {

// Images whose channels lie last already, and others, which are copied; channels that fill blocks and that do not, odd
// ones and ones that begin at an odd place; strips that divide rows and that do not; stride, dilation, no padding; one
// dimension; ends that read along channels and along the image; results that stay as they are made, and that do not.
constexpr std::string_view kLastPrograms[] = {
    "input t: bf16[2, 56, 96]\nparam w: bf16[96, 1, 7, 7]\nparam b: bf16[96]\noutput z: bf16[2, 56, 96]\n"
    "view x = t: [2, 96, 7, 8] strides [5376, 1, 768, 96]\nview c = b: [96, 1, 1] strides [1, 0, 0]\n"
    "y: bf16 = conv(x, w) by {padding: 3, groups: 96} with {path: channels} -> it + c\n"
    "view u = y: [2, 56, 96] strides [5376, 1, 56]\nz = map(u * 2)",
    "input t: f32[3, 30, 34]\nparam w: f32[34, 1, 3, 3]\noutput y: f32[3, 34, 5, 6]\n"
    "view x = t: [3, 34, 5, 6] strides [1020, 1, 204, 34]\n"
    "y = conv(x, w) by {padding: 1, groups: 34} with {path: channels, across: 4, block: 64} -> abs(it)",
    "input x: f16[2, 24, 9, 11]\nparam w: f16[24, 1, 3, 3]\ninput r: f16[2, 24, 5, 6]\noutput y: f16[2, 24, 5, 6]\n"
    "y = conv(x, w) by {padding: 1, stride: 2, groups: 24} with {path: channels, rows: 2} -> it + r",
    "input t: f32[2, 63, 7]\nparam w: f32[7, 1, 3, 2]\noutput y: f32[2, 7, 5, 5]\n"
    "view x = t: [2, 7, 9, 7] strides [441, 1, 49, 7]\n"
    "y = conv(x, w) by {groups: 7, dilation: 2x2} with {path: channels, rows: 4}",
    "input t: bf16[2, 41, 20]\nparam w: bf16[20, 1, 4]\noutput z: bf16[2, 41, 20]\n"
    "view x = t: [2, 20, 41] strides [820, 1, 20]\n"
    "y: bf16 = conv(x, w) by {padding: 3, groups: 20, extent: 41} with {path: channels} -> it * sigmoid(it)\n"
    "view u = y: [2, 41, 20] strides [820, 1, 41]\nz = map(u + 1)",
    "input t: bf16[1, 30, 136]\nparam w: bf16[130, 1, 3, 3]\noutput y: bf16[1, 130, 5, 6]\n"
    "view x = t: [1, 130, 5, 6] strides [4080, 1, 816, 136] offset 3\n"
    "y = conv(x, w) by {padding: 1, groups: 130} with {path: channels}",
};

// A mean of each plane, as squeeze and excitation has one, and what reads it beside the image: both read what stays.
constexpr std::string_view kMeans =
    "input t: f32[2, 63, 34]\nparam w: f32[34, 1, 3, 3]\noutput m: f32[68]\noutput z: f32[2, 63, 34]\n"
    "view x = t: [2, 34, 9, 7] strides [2142, 1, 238, 34]\n"
    "y: f32 = conv(x, w) by {padding: 1, groups: 34} with {path: channels}\n"
    "view p = y: [68, 63] strides [63, 1]\nm = reduce sum(p) over [1] -> it / 63\n"
    "view q = y: [2, 63, 34] strides [2142, 1, 63]\nz = map(q * 2)";

using CudaChannelsTest = testing::CudaProgramTest;
using ChannelsBlocksTest = dsl::testing::DeviceBlocksTest;
using ChannelsOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(CudaChannelsTest, EveryKindCompilesAndFits) {
  for (const auto text : kLastPrograms) {
    SCOPED_TRACE(text);
    for (const auto& launch : BuiltOf(text).launches)
      EXPECT_EQ(launch.spill_load_bytes + launch.spill_store_bytes, 0) << launch.name;
  }
}

// A row of the image is read once a thread, by pairs of channels, for two rows of outputs, and a weight of the pair for
// all outputs of a row.
TEST_F(CudaChannelsTest, WhatARowHasIsReadOnce) {
  const auto built = BuiltOf(
      "input t: bf16[64, 3136, 96]\nparam w: bf16[96, 1, 7, 7]\noutput z: bf16[64, 3136, 96]\n"
      "view x = t: [64, 96, 56, 56] strides [301056, 1, 5376, 96]\n"
      "y: bf16 = conv(x, w) by {padding: 3, groups: 96}\n"
      "view u = y: [64, 3136, 96] strides [301056, 1, 3136]\nz = map(u + 1)");
  ASSERT_EQ(built.launches.size(), 2u);
  EXPECT_NE(built.launches[0].name.find("channels"), std::string::npos);
  const auto& instructions = built.launches[0].instructions;
  EXPECT_EQ(instructions.at("FFMA"), 2 * 7 * 14 * 2);
  EXPECT_EQ(instructions.at("LDS.64"), 2 * 7);
  EXPECT_LE(built.launches[0].registers, 128);
}

TEST_F(CudaChannelsTest, WhatItCannotDoIsRefusedInALine) {
  const auto said = [&](std::string_view w, std::string_view rest) {
    const auto lowered = Lowered(
        fmt::format("input x: f32[2, 8, 30, 31]\nparam w: f32{}\noutput y: f32[2, 8, 30, 31]\ny = conv{}", w, rest));
    const auto* complaint = std::get_if<dsl::Complaint>(&lowered);
    return complaint ? complaint->message : std::string("taken");
  };
  EXPECT_EQ(said("[8, 1, 3, 3]", "(x, w) by {padding: 1, groups: 8} with {path: channels}"), "taken");
  EXPECT_NE(said("[8, 2, 3, 3]", "(x, w) by {padding: 1, groups: 4} with {path: channels}").find("one input and one"),
            std::string::npos);
  EXPECT_NE(said("[8, 1, 3, 3]", "(exp(x), w) by {padding: 1, groups: 8} with {path: channels}").find("as they lie"),
            std::string::npos);
  EXPECT_NE(said("[8, 1, 3, 3]", "(x, w) by {padding: 1, groups: 8} with {path: channels, across: 15}").find("14"),
            std::string::npos);
}

TEST_F(CudaChannelsTest, AMeanOfEachPlaneReadsThemWhereTheyLie) {
  const auto built = BuiltOf(kMeans);
  std::string names;
  for (const auto& launch : built.launches) names += launch.name + " ";
  EXPECT_EQ(names.find("turn"), std::string::npos) << names;
  EXPECT_EQ(names.find("last"), std::string::npos) << names;
}

TEST_F(ChannelsBlocksTest, TheyComputeWhatTheProgramSays) {
  ExpectBlocksSay(kMeans, 1e-5);
  for (const auto text : kLastPrograms) ExpectBlocksSay(text, 1e-2);
}

TEST_F(ChannelsOnDeviceTest, ItComputesWhatItsProgramSays) {
  ExpectWhatItSays(kMeans, 1e-5);
  for (const auto text : kLastPrograms) ExpectWhatItSays(text, 1e-2);
}

}  // namespace
}  // namespace hone
