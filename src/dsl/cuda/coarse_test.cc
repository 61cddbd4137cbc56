// Functions of what is rounded to 16 bits take the units' own instructions, where nothing that jumps hangs on them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "dsl/testing/device_blocks.h"
#include "dsl/testing/device_program.h"

namespace hone {
namespace {

using CoarseTest = testing::CudaProgramTest;
using CoarseOnHostTest = dsl::testing::DeviceBlocksTest;

std::string MapOf(std::string_view type, std::string_view value) {
  return fmt::format("input x: {0}[64, 256]\noutput y: {0}[64, 256]\ny = map({1})", type, value);
}

TEST_F(CoarseTest, HalvesAndBrainsAloneDo) {
  const auto text = [&](std::string_view type) { return BuiltOf(MapOf(type, "x * sigmoid(x)")).plan.sources[0].text; };
  for (const std::string_view type : {"f16", "bf16"}) {
    EXPECT_NE(text(type).find("InverseUnit(1.0f + Exp2Unit("), std::string::npos) << text(type);
    EXPECT_EQ(text(type).find("expf("), std::string::npos) << text(type);
  }
  EXPECT_NE(text("f32").find("expf("), std::string::npos) << text("f32");
  EXPECT_EQ(text("f32").find("Exp2Unit("), std::string::npos) << text("f32");
}

TEST_F(CoarseTest, SeveralResultsDoWhereAllOfThemAreRounded) {
  const auto text = [&](std::string_view type) {
    return BuiltOf(fmt::format("input x: f16[64, 256]\noutput y: f16[64, 256]\noutput z: {}[64, 256]\n"
                               "y = map(exp(x))\n  also z = it * 2",
                               type))
        .plan.sources[0]
        .text;
  };
  EXPECT_NE(text("bf16").find("Exp2Unit("), std::string::npos);
  EXPECT_EQ(text("f32").find("Exp2Unit("), std::string::npos);
}

// The units for quotients and inverses give 0 of what is beyond 2^126.
TEST_F(CoarseTest, WhatIsLargeIsDividedAsOtherNumbers) {
  const auto text = [&](std::string_view value) { return BuiltOf(MapOf("bf16", value)).plan.sources[0].text; };
  EXPECT_NE(text("x / (1 + abs(x))").find("Quotient("), std::string::npos);
  EXPECT_NE(text("exp(x) / (1 + exp(x))").find("Quotient("), std::string::npos);
  EXPECT_NE(text("x / (1 + exp(-x))").find("InverseUnit("), std::string::npos);
  const std::string by_number = text("x / 1e38");
  EXPECT_NE(by_number.find(" / 1e+38f"), std::string::npos) << by_number;
}

TEST_F(CoarseTest, NumbersAreMultipliedBehindAsTheirInverse) {
  const std::string text = BuiltOf(MapOf("bf16", "x * min(x + 3, 6) / 6")).plan.sources[0].text;
  EXPECT_NE(text.find(" * 0.16666667f"), std::string::npos) << text;
  EXPECT_EQ(text.find("__fdividef("), std::string::npos) << text;
}

TEST_F(CoarseTest, WhatIsRoundedToAWholeNumberOrComparedIsExact) {
  for (const std::string_view value :
       {"floor(x / 3)", "round(x / 0.1) * 0.1", "select(sigmoid(x) > 0.5, x, 0)", "real(int(exp(x)))", "sign(x / 7)"}) {
    const std::string text = BuiltOf(MapOf("bf16", value)).plan.sources[0].text;
    EXPECT_EQ(text.find("Quotient("), std::string::npos) << text;
    EXPECT_EQ(text.find("Exp2Unit("), std::string::npos) << text;
    EXPECT_EQ(text.find("InverseUnit("), std::string::npos) << text;
  }
  // What magnifies, but of a quotient by a number, and folds whose results are told apart.
  for (const std::string_view value : {"sqrt(1 - x / (x + 2))", "1 - exp(x)", "cos(exp(x))", "log(sigmoid(x))"}) {
    const std::string text = BuiltOf(MapOf("bf16", value)).plan.sources[0].text;
    EXPECT_EQ(text.find("Quotient("), std::string::npos) << text;
    EXPECT_EQ(text.find("Exp2Unit("), std::string::npos) << text;
    EXPECT_EQ(text.find("InverseUnit("), std::string::npos) << text;
  }
  for (const std::string_view fold : {"max (x / 49) over [1] -> floor(it)", "argmax (x / (x + 3)) over [1] -> real(it)",
                                      "sum (exp(x)) over [1] -> select(it > 0.5, 1, it)"}) {
    const std::string text =
        BuiltOf(fmt::format("input x: bf16[64, 256]\noutput y: bf16[64]\ny: bf16 = reduce {}", fold))
            .plan.sources[0]
            .text;
    EXPECT_EQ(text.find("0.020408163f"), std::string::npos) << text;
    EXPECT_EQ(text.find("Quotient("), std::string::npos) << text;
    EXPECT_EQ(text.find("Exp2Unit("), std::string::npos) << text;
  }
  const std::string either = BuiltOf(MapOf("bf16", "select(x > 0, x, exp(x) * 2)")).plan.sources[0].text;
  EXPECT_NE(either.find("Exp2Unit("), std::string::npos) << either;
}

TEST_F(CoarseOnHostTest, EndsNestsAndNormsMakeWhatTheProgramSays) {
  const std::string_view programs[] = {
      "input x: f16[8, 16, 40]\ninput s: f16[8, 16]\noutput y: f16[8, 40, 16]\nview t = x: [8, 40, 16] strides [640, "
      "1, "
      "40]\nview g = s: [8, 1, 16] strides [16, 0, 1]\ny = map(t * sigmoid(g) / (abs(t) + 1))",
      "input x: f16[64, 300]\noutput y: f16[64, 300]\n"
      "y = norm(x) over [1]\n  let m = sum(x) / 300\n  let r = rsqrt(sum((x - m) * (x - m)) / 300 + 1e-5)\n"
      "  -> (x - m) * r * sigmoid((x - m) * r)",
      "input x: f16[40, 30]\noutput y: f16[30, 40]\ny = nest [i < 30, j < 40] (x[j, i] * sigmoid(x[j, i]))",
  };
  for (const auto program : programs) ExpectBlocksSay(std::string(program), 0x1p-10);
}

}  // namespace
}  // namespace hone
