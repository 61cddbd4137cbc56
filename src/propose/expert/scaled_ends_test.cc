#include "propose/expert/scaled_ends.h"

#include <gtest/gtest.h>

#include <string>

#include "dsl/program.h"

namespace hone::expert {
namespace {

std::string WithScaledEnds(const std::string& statements) {
  const auto parsed = dsl::Parse(
      "program p\ninput x: bf16[64, 32]\ninput r: bf16[64, 16]\nparam w: bf16[32, 16]\nparam m: bf16[16]\n"
      "param v: f32[16]\nparam g: bf16[16]\nparam b: bf16[16]\nparam k: bf16[64, 1]\noutput z: bf16[64, 16]\n" +
      statements);
  EXPECT_TRUE(std::holds_alternative<dsl::Program>(parsed));
  dsl::Program program = std::get<dsl::Program>(parsed);
  ScaleEnds(program);
  const std::string text = dsl::Print(program);
  return text.substr(text.find("output z: bf16[64, 16]\n") + 23);
}

TEST(ScaledEndsTest, ABatchNormIsTwoNumbersThatAreMadeBefore) {
  EXPECT_EQ(WithScaledEnds("s = map(rsqrt(v + 0.001))\n"
                           "z: bf16 = matmul(x, w) -> relu((it - m) * s * g + b + r)\n"),
            "s = map(rsqrt(v + 0.001))\n"
            "z_scale = map(s * g)\n"
            "z_shift = map(-m * s * g + b)\n"
            "z: bf16 = matmul(x, w) -> relu(it * z_scale + z_shift + r)\n");
}

TEST(ScaledEndsTest, WhatIsReadTwiceIsMadeOnce) {
  const std::string text = WithScaledEnds("z: bf16 = matmul(x, w) -> ((it - m) * g + b) * sigmoid((it - m) * g + b)\n");
  EXPECT_EQ(text,
            "z_scale = map(g)\nz_shift = map(-m * g + b)\n"
            "z: bf16 = matmul(x, w) -> (it * z_scale + z_shift) * sigmoid(it * z_scale + z_shift)\n");
}

TEST(ScaledEndsTest, ViewsOfParametersAreKnownFromTheFirstStatementOn) {
  EXPECT_EQ(WithScaledEnds("view f = m: [64, 1] strides [0, 0]\nview h = g: [64, 1] strides [0, 0]\n"
                           "view i = b: [64, 1] strides [0, 0]\nz: bf16 = matmul(x, w) -> (it - f) * h + i\n"),
            "view f = m: [64, 1] strides [0, 0]\nview h = g: [64, 1] strides [0, 0]\n"
            "view i = b: [64, 1] strides [0, 0]\nz_scale = map(h)\nz_shift = map(-f * h + i)\n"
            "z: bf16 = matmul(x, w) -> it * z_scale + z_shift\n");
}

TEST(ScaledEndsTest, MapsOfWhatIsNoParameterAreScaledToo) {
  EXPECT_EQ(WithScaledEnds("z: bf16 = map((r * sigmoid(r) - m) * v * g + b) -> relu(it)\n"),
            "z_scale = map(v * g)\nz_shift = map(-m * v * g + b)\n"
            "z: bf16 = map(r * sigmoid(r) * z_scale + z_shift) -> relu(it)\n");
  EXPECT_EQ(WithScaledEnds("z: bf16 = matmul(x, w) -> (it * r - m) * g + b\n"),
            "z_scale = map(g)\nz_shift = map(-m * g + b)\nz: bf16 = matmul(x, w) -> it * r * z_scale + z_shift\n");
  for (const std::string stays :
       {"z: bf16 = map(round((r - m) * v * g + b))\n", "z: bf16 = map((r - m) * v * g + b)\n  also y: f32 = it * 2\n",
        "z: bf16 = map(r + ((m - v) * g + b))\n"})
    EXPECT_EQ(WithScaledEnds(stays), stays);
  const std::string once = "s: bf16 = map((g - m) * v * g + b)\nz: bf16 = map(r + s)\n";
  EXPECT_EQ(WithScaledEnds(once), once);
}

TEST(ScaledEndsTest, OtherEndsStay) {
  for (const std::string text : {"z: bf16 = matmul(x, w) -> it * g + b\n",           // two numbers already
                                 "z: bf16 = matmul(x, w) -> (it - m) * g + r\n",     // an input
                                 "z: bf16 = matmul(x, w) -> (it - m) * k + b\n",     // of two shapes
                                 "z: bf16 = matmul(x, w) -> (m - it) * g + b\n",     // two numbers behind it
                                 "y: f32 = matmul(x, w) -> (it - m) * v * g + b\n",  // kept in 32 bits
                                 "s = map(rsqrt(r))\nz: bf16 = matmul(x, w) -> it * m * g + s\n"}) {
    EXPECT_EQ(WithScaledEnds(text), text);
  }
}

}  // namespace
}  // namespace hone::expert
