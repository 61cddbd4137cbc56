#include "base/small_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "base/dtype.h"

namespace hone {
namespace {

using Half = SmallFloat<5, 10>;
using BFloat16 = SmallFloat<8, 7>;
using E4M3 = SmallFloat<4, 3, false>;
using E5M2 = SmallFloat<5, 2>;

template <class Small>
int Bits(double x) {
  return Small::From(x).bits;
}

template <class Small>
void ExpectEveryNumberToStayWhatItIs() {
  for (unsigned bits = 0; bits < 2 * Small::kSign; ++bits) {
    const auto number = Small::OfBits(static_cast<typename Small::Bits>(bits));
    const float value = number;
    if (std::isnan(value)) {
      EXPECT_GT(bits & ~Small::kSign, Small::kTop) << bits;
      EXPECT_TRUE(std::isnan(static_cast<float>(Small(value))));
      continue;
    }
    EXPECT_EQ(Small(value).bits, bits);
    EXPECT_EQ(Small::From(static_cast<double>(value)).bits, bits);
    EXPECT_EQ(std::signbit(value), bits >= Small::kSign);
  }
}

TEST(SmallFloatTest, EveryNumberStaysWhatItIs) {
  ExpectEveryNumberToStayWhatItIs<Half>();
  ExpectEveryNumberToStayWhatItIs<BFloat16>();
  ExpectEveryNumberToStayWhatItIs<E4M3>();
  ExpectEveryNumberToStayWhatItIs<E5M2>();
}

TEST(SmallFloatTest, HalfRoundsToNearestEven) {
  EXPECT_EQ(Bits<Half>(1.0), 0x3c00);
  EXPECT_EQ(Bits<Half>(1 + 0x1p-11), 0x3c00);  // a tie goes to even
  EXPECT_EQ(Bits<Half>(1 + 3 * 0x1p-11), 0x3c02);
  EXPECT_EQ(Bits<Half>(1 + 0x1p-11 + 0x1p-40), 0x3c01);  // rounding through float would lose the last term
  EXPECT_EQ(Bits<Half>(65504), 0x7bff);
  EXPECT_EQ(Bits<Half>(65520), 0x7c00);  // half a step above the largest is infinity
  EXPECT_EQ(Bits<Half>(1e30), 0x7c00);
  EXPECT_EQ(Bits<Half>(-65519.99), 0xfbff);
  EXPECT_EQ(Bits<Half>(0x1p-24), 0x0001);
  EXPECT_EQ(Bits<Half>(0x1p-25), 0x0000);
  EXPECT_EQ(Bits<Half>(0x1.8p-25), 0x0001);
  EXPECT_EQ(Bits<Half>(0x1p-140), 0x0000);
  EXPECT_EQ(Bits<Half>(-0.0), 0x8000);
  EXPECT_TRUE(std::isnan(static_cast<float>(Half::From(std::nan("")))));
}

TEST(SmallFloatTest, BFloat16RoundsToNearestEven) {
  EXPECT_EQ(Bits<BFloat16>(1.0), 0x3f80);
  EXPECT_EQ(Bits<BFloat16>(1 + 0x1p-8), 0x3f80);
  EXPECT_EQ(Bits<BFloat16>(1 + 0x1p-8 + 0x1p-45), 0x3f81);
  EXPECT_EQ(Bits<BFloat16>(1 + 3 * 0x1p-8), 0x3f82);
  EXPECT_EQ(Bits<BFloat16>(3.4e38), 0x7f80);
  EXPECT_EQ(Bits<BFloat16>(-HUGE_VAL), 0xff80);
  EXPECT_EQ(Bits<BFloat16>(0x1p-133), 0x0001);
}

// As torch 2.13 makes torch.float8_e4m3fn and torch.float8_e5m2 from float32.
TEST(SmallFloatTest, EightBitsRoundAsPyTorchsDo) {
  EXPECT_EQ(Bits<E4M3>(448), 0x7e);
  EXPECT_EQ(Bits<E4M3>(400), 0x7c);  // a tie goes to even
  EXPECT_EQ(Bits<E4M3>(1e9), 0x7e);  // no infinity: the largest number
  EXPECT_EQ(Bits<E4M3>(-HUGE_VAL), 0xfe);
  EXPECT_EQ(Bits<E4M3>(std::nan("")), 0x7f);
  EXPECT_EQ(Bits<E4M3>(0x1p-9), 0x01);
  EXPECT_EQ(Bits<E4M3>(0x1p-10), 0x00);
  EXPECT_EQ(Bits<E4M3>(1.0625), 0x38);
  EXPECT_EQ(Bits<E4M3>(1.1875), 0x3a);
  EXPECT_EQ(Bits<E5M2>(57344), 0x7b);
  EXPECT_EQ(Bits<E5M2>(61440), 0x7c);
  EXPECT_EQ(Bits<E5M2>(61439), 0x7b);
  EXPECT_EQ(Bits<E5M2>(0x1p-16), 0x01);
  EXPECT_EQ(Bits<E5M2>(0x1p-17), 0x00);
}

template <class Small>
void ExpectOneRounding() {
  std::mt19937 random(7);
  for (int i = 0; i < 200'000; ++i) {
    const float x = __builtin_bit_cast(float, static_cast<unsigned>(random()));
    if (std::isnan(x)) continue;
    ASSERT_EQ(Small(x).bits, Small::From(static_cast<double>(x)).bits) << x;
    const double y = static_cast<float>(Small(x));
    if (!std::isfinite(y)) continue;
    if (std::abs(y) == Small::kLargest) continue;
    ASSERT_LE(std::abs(y - static_cast<double>(x)),
              std::max(std::abs(static_cast<double>(x)) * Small::kRoundoff, Small::kStep / 2));
  }
}

TEST(SmallFloatTest, FloatsAndDoublesRoundOnce) {
  ExpectOneRounding<Half>();
  ExpectOneRounding<BFloat16>();
  ExpectOneRounding<E4M3>();
  ExpectOneRounding<E5M2>();
}

TEST(DTypeTest, OverflowIsHalfAStepBeyondTheLargestNumber) {
  EXPECT_EQ(OverflowOf(DType::kF16), 65520);
  EXPECT_EQ(OverflowOf(DType::kBF16), 0x1.ffp127);
  EXPECT_EQ(OverflowOf(DType::kF32), 0x1.ffffffp127);
  EXPECT_TRUE(std::isinf(OverflowOf(DType::kF64)));
  EXPECT_TRUE(std::isinf(OverflowOf(DType::kF8E4M3)));
  EXPECT_EQ(OverflowOf(DType::kF8E5M2), 61440);
  EXPECT_EQ(Half::kLargest, RowOf(DType::kF16).largest);
  EXPECT_EQ(BFloat16::kLargest, RowOf(DType::kBF16).largest);
  EXPECT_EQ(E4M3::kLargest, RowOf(DType::kF8E4M3).largest);
  EXPECT_EQ(E5M2::kLargest, RowOf(DType::kF8E5M2).largest);
}

TEST(DTypeTest, NamesLeadBackToTheirTypes) {
  for (const auto& row : kDTypes) EXPECT_EQ(ParseDType(row.name), row.dtype);
  EXPECT_FALSE(ParseDType("float32"));
  EXPECT_EQ(ElementType(DType::kBF16), "hone::SmallFloat<8, 7>");
  EXPECT_EQ(ElementType(DType::kF8E4M3), "hone::SmallFloat<4, 3, false>");
  EXPECT_EQ(ElementType(DType::kI64), "std::int64_t");
}

}  // namespace
}  // namespace hone
