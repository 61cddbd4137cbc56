#include "judge/energy_windows.h"

#include <gtest/gtest.h>

#include <atomic>

namespace hone {
namespace {

// A counter that moves every `tick_s` by what `watts` make of it, from 0 to `seconds`.
std::vector<EnergyMove> Moves(double tick_s, double watts, double seconds) {
  std::vector<EnergyMove> moves;
  for (int i = 0; i * tick_s <= seconds; ++i) moves.push_back({i * tick_s, i * tick_s * watts});
  return moves;
}

TEST(EnergyWindowsTest, AWindowIsOfWholeTicks) {
  const auto window = WindowOf(Moves(0.1, 300, 2), 0.25, 1.19);
  ASSERT_TRUE(window && *window);
  EXPECT_NEAR((*window)->seconds, 0.8, 1e-9) << "from 0.3 to 1.1";
  EXPECT_NEAR((*window)->watts, 300, 1e-9);
  EXPECT_NEAR((*window)->tick_s, 0.1, 1e-9);
  EXPECT_NEAR((*window)->least_watts, 300, 1e-9);
  EXPECT_NEAR((*window)->most_watts, 300, 1e-9);
}

TEST(EnergyWindowsTest, WhatWasBeforeAndAfterDoesNotCount) {
  auto moves = Moves(0.1, 100, 3);
  for (EnergyMove& one : moves) one.joules += one.at_s > 1.95 ? 500 : one.at_s < 0.55 ? -40 : 0;
  const auto window = WindowOf(moves, 0.58, 1.93);
  ASSERT_TRUE(window && *window);
  EXPECT_NEAR((*window)->watts, 100, 1e-9);
}

TEST(EnergyWindowsTest, HowEvenAWindowWasIsSaid) {
  auto moves = Moves(0.01, 100, 1);
  for (EnergyMove& one : moves) one.joules += one.at_s > 0.5 ? 100 * (one.at_s - 0.5) : 0;  // twice as much then
  const auto window = WindowOf(moves, 0, 1);
  ASSERT_TRUE(window && *window);
  EXPECT_NEAR((*window)->least_watts, 100, 1);
  EXPECT_NEAR((*window)->most_watts, 200, 1);
}

TEST(EnergyWindowsTest, FewMovementsAreNoWindow) {
  EXPECT_EQ(WindowOf(Moves(0.1, 300, 0.2), 0, 1)->has_value(), false);
  EXPECT_EQ(WindowOf({}, 0, 1)->has_value(), false);
}

TEST(EnergyWindowsTest, ACounterThatFellIsOfALoadedDriver) {
  auto moves = Moves(0.1, 300, 2);
  moves[7].joules = 1;
  const auto window = WindowOf(moves, 0, 2);
  ASSERT_FALSE(window);
  EXPECT_EQ(window.error().kind, ErrorKind::kDevice);
  EXPECT_EQ(window.error().message, "the energy counter fell: the driver was loaded anew meanwhile; measure again");
}

class Failing final : public EnergyCounter {
 public:
  Result<double> Joules() override { return Fail(ErrorKind::kDevice, "the device is busy"); }
  std::string sensor() const override { return ""; }
};

TEST(EnergyWindowsTest, AWatchSaysWhyTheCounterDoesNotAnswer) {
  Failing counter;
  EnergyWatch watch(counter);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto window = watch.End(std::chrono::milliseconds(0));
  ASSERT_FALSE(window);
  EXPECT_EQ(window.error().message, "the device is busy");
}

}  // namespace
}  // namespace hone
