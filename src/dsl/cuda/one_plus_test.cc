// The ends of GELUs before values are rounded to 16 bits, run on the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "dsl/testing/device_function.h"

namespace hone::dsl {
namespace {

class OnePlusTest : public testing::DeviceFunctionTest {
 protected:
  void LoadOf(const std::string& function, const std::string& name) {
    Load(
        "input x: f16[256, 256]\ninput w: f16[256, 256]\noutput y: f16[256, 256]\n"
        "view t = w: [256, 256] strides [1, 256]\ny = matmul(x, t) with {precision: f16, end: tiles} -> " +
            function + "(it)",
        name);
  }
  // How far off at most between two places, of the value itself.
  double Worst(double (*exact)(double), float from, float to) const {
    double worst = 0;
    for (float x = from; x < to; x += 0x1p-9f) worst = std::max(worst, std::fabs(of_(x) / exact(x) - 1));
    return worst;
  }
};
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST_F(OnePlusTest, OfErfIsRightToFourteenBitsAndInItsTailAsInF32) {
  LoadOf("gelu", "OnePlusErf");
  const auto exact = [](double x) { return std::erfc(-x); };
  EXPECT_LT(Worst(exact, -2.2f, 8), 0x1p-14);
  EXPECT_LT(Worst(exact, -3, -2.2f), 0x1p-11);
  EXPECT_LT(Worst(exact, -4, -3), 0x1p-5);  // 1 + erff(x) is as far off at -3.4
  EXPECT_EQ(of_(kInfinity), 2);
  EXPECT_EQ(of_(-kInfinity), 0);
  EXPECT_TRUE(std::isnan(of_(std::numeric_limits<float>::quiet_NaN())));
}

TEST_F(OnePlusTest, OfTanhIsRightToTwentyBits) {
  LoadOf("gelu_tanh", "OnePlusTanh");
  const auto exact = [](double x) { return 2 / (1 + std::exp(-2 * x)); };
  EXPECT_LT(Worst(exact, -8, 8), 0x1p-19);
  EXPECT_EQ(of_(kInfinity), 2);
  EXPECT_EQ(of_(-kInfinity), 0);
  EXPECT_TRUE(std::isnan(of_(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace hone::dsl
