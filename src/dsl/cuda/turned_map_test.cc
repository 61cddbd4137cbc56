// Maps that read across, in squares: memory is met in whole lines, every way to cut them compiles and computes what the
// program says. The latter is skipped where there is no device.
#include <gtest/gtest.h>

#include <string_view>

#include "dsl/testing/device_program.h"

namespace hone {
namespace {

// The two parts of complex numbers, of floats and of halves. Ragged edges; three dimensions, beside what lies as the
// result does; rows shorter than a square, in the result and in the operand; two operands turned, in small squares;
// f64; halves in pairs, beside what lies as the result does and what does not, and where a row begins between two;
// bytes by fours.
constexpr std::string_view kPrograms[] = {
    "input x: f32[300, 530, 2]\noutput y: f32[530, 300]\nview v = x: [530, 300] strides [2, 1060]\n"
    "view w = x: [530, 300] strides [2, 1060] offset 1\ny = map(square(v) + square(w))",
    "input x: f16[170, 94, 2]\noutput y: f16[94, 170]\nview v = x: [94, 170] strides [2, 188]\ny = map(v * 2)",
    "input x: f32[300, 530]\noutput y: f32[530, 300]\nview v = x: [530, 300] strides [1, 530]\ny = map(v * 2)",
    "input x: f32[5, 40, 33]\ninput b: f32[33]\noutput y: f32[33, 5, 40]\n"
    "view v = x: [33, 5, 40] strides [1, 1320, 33]\nview c = b: [33, 1, 1] strides [1, 0, 0]\ny = map(v + c)",
    "input x: f32[3, 4, 3, 50]\noutput y: f32[3, 4, 50, 3]\nview v = x: [3, 4, 50, 3] strides [600, 150, 1, 50]\n"
    "y = map(v)",
    "input x: f32[200, 9]\noutput y: f32[9, 200]\nview v = x: [9, 200] strides [1, 9]\ny = map(tanh(v))",
    "input x: f32[64, 96]\ninput z: f32[96, 64]\ninput w: f32[64, 96]\noutput y: f32[96, 64]\n"
    "view v = x: [96, 64] strides [1, 96]\nview u = w: [96, 64] strides [1, 96]\n"
    "y = map(v * z + u) with {tile: 32, block: 128}",
    "input x: f64[130, 70]\noutput y: f64[70, 130]\nview v = x: [70, 130] strides [1, 70]\ny = map(v)",
    "input x: f16[170, 94]\ninput z: f16[94, 170]\ninput c: f16[94]\noutput y: f32[94, 170]\n"
    "view v = x: [94, 170] strides [1, 94]\nview d = c: [94, 1] strides [1, 0]\ny = map(v * z + d)",
    "input x: f16[171, 94]\noutput y: f16[94, 171]\nview v = x: [94, 171] strides [1, 94]\ny = map(v)",
    "input x: u8[300, 132]\noutput y: u8[132, 300]\nview v = x: [132, 300] strides [1, 132]\ny = map(v)",
    // Several results: halves in pairs, of which one is stored as floats; element by element.
    "input x: f16[170, 94]\ninput z: f16[94, 170]\noutput y: f16[94, 170]\noutput s: f32[94, 170]\n"
    "view v = x: [94, 170] strides [1, 94]\ny = map(v * z)\n  also s = it + v",
    "input x: f32[300, 531]\noutput y: f32[531, 300]\noutput p: bool[531, 300]\n"
    "view v = x: [531, 300] strides [1, 531]\ny = map(v) -> tanh(it)\n  also p = it > 0.5",
};

using CudaTurnedMapTest = testing::CudaProgramTest;
using TurnedMapOnDeviceTest = testing::ProgramOnDeviceTest;

TEST_F(CudaTurnedMapTest, ASquareGoesThroughSharedMemory) {
  for (const auto text : kPrograms) {
    SCOPED_TRACE(text);
    const auto built = BuiltOf(text);
    ASSERT_EQ(built.launches.size(), 1u);
    EXPECT_GT(built.launches[0].static_shared_bytes, 0);
    EXPECT_EQ(built.launches[0].spill_load_bytes, 0);
  }
}

TEST_F(CudaTurnedMapTest, AThreadHasAllOfItsLoadsUnderWayAtOnce) {
  const auto built = BuiltOf(
      "input x: f32[1024, 2048]\noutput y: f32[2048, 1024]\nview v = x: [2048, 1024] strides [1, 2048]\ny = map(v)");
  ASSERT_EQ(built.launches.size(), 1u);
  EXPECT_EQ(built.launches[0].instructions.at("LDG.32"), 64 * 64 / 512);
  EXPECT_EQ(built.launches[0].instructions.at("STG.32"), 64 * 64 / 512);
}

TEST_F(CudaTurnedMapTest, HalvesMoveInPairs) {
  const auto built = BuiltOf(
      "input x: f16[1024, 2048]\noutput y: f16[2048, 1024]\nview v = x: [2048, 1024] strides [1, 2048]\ny = map(v)");
  ASSERT_EQ(built.launches.size(), 1u);
  EXPECT_EQ(built.launches[0].instructions.at("LDG.32"), 128 * 128 / 512 / 2);
  EXPECT_EQ(built.launches[0].instructions.at("STG.32"), 128 * 128 / 512 / 2);
}

TEST_F(CudaTurnedMapTest, WhatLiesAsTheResultDoesIsNotTurned) {
  const auto lowered = Lowered("input x: f32[64, 96]\noutput y: f32[64, 96]\ny = map(x) with {tile: 64}");
  const auto* said = std::get_if<dsl::Complaint>(&lowered);
  ASSERT_NE(said, nullptr);
  EXPECT_NE(said->message.find("nothing is read across"), std::string::npos) << said->message;
  EXPECT_EQ(BuiltOf("input x: f32[64, 96]\noutput y: f32[64, 96]\ny = map(x)").launches.at(0).static_shared_bytes, 0);
}

TEST_F(TurnedMapOnDeviceTest, ItComputesWhatItsProgramSays) {
  for (const auto text : kPrograms) {
    SCOPED_TRACE(text);
    ExpectWhatItSays(text);
  }
}

}  // namespace
}  // namespace hone
