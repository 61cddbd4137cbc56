// The device's logarithm, run on the host: its text is plain arithmetic, but for what is not a normal positive number.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "dsl/testing/device_function.h"

namespace hone::dsl {
namespace {

class LogTest : public testing::DeviceFunctionTest {
 protected:
  void SetUp() override { Load("input x: f32[64]\noutput y: f32[64]\ny = map(log(x))", "Log"); }
};

TEST_F(LogTest, EveryNormalNumberHasItsLogarithmWithinOneAndAThirdUnits) {
  double worst = 0;
  for (std::uint64_t bits = 0x00800000; bits < 0x7f800000; bits += 997) {  // a prime: all exponents, all parts of each
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const double want = std::log(static_cast<double>(x));
    const auto single = static_cast<float>(std::fabs(want));
    const double unit = std::nextafter(single, std::numeric_limits<float>::infinity()) - single;
    worst = std::max(worst, std::fabs(of_(x) - want) / unit);
  }
  EXPECT_LT(worst, 4.0 / 3);
  EXPECT_GT(worst, 0.5);
  EXPECT_EQ(of_(1.0f), 0);
}

TEST_F(LogTest, WhatIsNotNormalAndPositiveIsTheUnits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(of_(0.0f), -kInfinity);
  EXPECT_EQ(of_(-0.0f), -kInfinity);
  EXPECT_EQ(of_(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(of_(-1.0f)));
  EXPECT_TRUE(std::isnan(of_(-kInfinity)));
  EXPECT_TRUE(std::isnan(of_(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_NEAR(of_(1e-40f), std::log(1e-40), 1e-4);
  EXPECT_NEAR(of_(std::numeric_limits<float>::denorm_min()), std::log(0x1p-149), 1e-4);
}

}  // namespace
}  // namespace hone::dsl
