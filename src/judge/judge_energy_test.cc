// How the judge measures energy, on a meter of the test's and workers that are no processes. Real time, but little.
#include <gtest/gtest.h>

#include "judge/testing/fake_worker.h"

namespace hone::testing {
namespace {

constexpr double kRestWatts = 50;

// A candidate of 100 us a call. `watts`: what the device takes while the n-th window's calls run, n from 0.
class JudgeEnergyTest : public ::testing::Test {
 protected:
  JudgeEnergyTest() {
    court_.candidate.run = [](const FakeCall&) {};
    court_.candidate.takes_time = true;
    // A window's worker is loaded, prepared, warmed by two questions and measured by the rest.
    court_.candidate.answer = [this](const Request& request, Reply&) -> Refusal {
      if (request.ask == Ask::kLoad) ++window_;
      if (request.ask == Ask::kPrepare) court_.meter.watts = watts_(window_);
      return {};
    };
  }

  Result<std::vector<EnergyOrWhy>> Measure(std::size_t candidates, EnergyRequest asked) {
    EnergyQuestion question{.asked = asked};
    for (std::size_t i = 0; i < candidates; ++i) question.candidates.push_back({.library = "none", .call_us = 100});
    return court_.TheJudge().MeasureEnergy(question);
  }

  FakeCourt court_;
  int window_ = -1;
  std::function<double(int)> watts_ = [](int) { return 300.0; };
};

constexpr EnergyRequest kShort{.window = std::chrono::milliseconds(60), .windows = 1, .idle = false};

TEST_F(JudgeEnergyTest, JoulesAreWattsForAsLongAsACallTakes) {
  const auto measured = Measure(1, kShort);
  ASSERT_TRUE(measured) << measured.error().message;
  ASSERT_TRUE(measured->at(0).energy) << measured->at(0).why;
  const Energy& energy = *measured->at(0).energy;
  EXPECT_EQ(energy.call_us, 100);
  EXPECT_NEAR(energy.watts, 300, 15);
  EXPECT_NEAR(energy.joules, 300 * 100e-6, 15 * 100e-6);
  EXPECT_GE(energy.window_s, 0.06);
  EXPECT_NEAR(energy.tick_ms, court_.meter.tick_ms, 3);
  EXPECT_EQ(energy.windows.size(), 1u);
  EXPECT_FALSE(energy.net_joules) << "nobody has looked at the device at rest";
  EXPECT_EQ(energy.sensor, "a meter of the test's");
}

TEST_F(JudgeEnergyTest, WindowsTakeTurnsAndNobodyIsAlwaysFirst) {
  // The device takes 10 W more with each window: who had all of its windows first would seem to take least.
  watts_ = [](int window) { return 200.0 + 10 * window; };
  const auto measured = Measure(2, {.window = std::chrono::milliseconds(40), .windows = 3, .idle = false});
  ASSERT_TRUE(measured) << measured.error().message;
  std::vector<double> first = measured->at(0).energy->windows, second = measured->at(1).energy->windows;
  ASSERT_EQ(first.size(), 3u);
  // Windows 0, 3, 4 and 1, 2, 5.
  const auto near = [](const std::vector<double>& windows, std::vector<double> watts) {
    for (std::size_t i = 0; i < windows.size(); ++i) EXPECT_NEAR(windows[i], watts[i] * 100e-6, 8 * 100e-6) << i;
  };
  near(first, {200, 230, 240});
  near(second, {210, 220, 250});
}

TEST_F(JudgeEnergyTest, NetIsWithoutWhatTheDeviceTakesAtRest) {
  court_.meter.watts = kRestWatts;
  const auto measured = Measure(1, {.window = std::chrono::milliseconds(60), .windows = 1, .idle = true});
  ASSERT_TRUE(measured) << measured.error().message;
  const Energy& energy = *measured->at(0).energy;
  ASSERT_TRUE(energy.idle_watts && energy.net_joules);
  EXPECT_NEAR(*energy.idle_watts, kRestWatts, 3);
  EXPECT_NEAR(*energy.net_joules, energy.joules - *energy.idle_watts * 100e-6, 1e-12);
}

TEST_F(JudgeEnergyTest, ADeviceThatOthersUseIsNotAtRest) {
  bool more = false;
  court_.meter.change = [&, looks = 0](double& joules) mutable {
    more = ++looks % 200 > 100;
    court_.meter.watts = more ? 300 : kRestWatts;
    static_cast<void>(joules);
  };
  const auto measured = Measure(1, {.window = std::chrono::milliseconds(40), .windows = 1, .idle = true});
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_FALSE(measured->at(0).energy->idle_watts);
  EXPECT_FALSE(measured->at(0).energy->net_joules);
}

TEST_F(JudgeEnergyTest, WhoIsFasterWhereNobodyLooksHasNoEnergy) {
  court_.candidate.call_us = [](const FakeCall&) { return 50.0; };
  const auto measured = Measure(1, kShort);
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_FALSE(measured->at(0).energy);
  EXPECT_EQ(measured->at(0).why,
            "its calls took 50 us each where nobody else had a turn and 100 us while they were timed: that is not the "
            "same work");
}

TEST_F(JudgeEnergyTest, WhoFailsHasNoEnergyAndTheOthersHave) {
  court_.candidate.answer = [&](const Request& request, Reply&) -> Refusal {
    if (request.ask == Ask::kLoad && ++window_ == 0) return Refuse(Outcome::kCrash, "crashed with SIGBUS");
    return {};
  };
  const auto measured = Measure(2, kShort);
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_EQ(measured->at(0).why, "crashed with SIGBUS");
  EXPECT_TRUE(measured->at(1).energy) << measured->at(1).why;
}

TEST_F(JudgeEnergyTest, ACounterThatStandsStillIsSaidAndNoWindow) {
  court_.meter.tick_ms = 1e6;
  const auto measured = Measure(1, kShort);
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_EQ(measured->at(0).why, "the energy counter moved too seldom for a window");
}

TEST_F(JudgeEnergyTest, WhatIsMissingIsKnownBefore) {
  EXPECT_EQ(court_.TheJudge().WhyNoEnergy(), "");
  FakeCourt other;
  other.meter.missing = true;
  EXPECT_EQ(other.TheJudge().WhyNoEnergy(), "the court has no meter");
  const auto measured = other.TheJudge().MeasureEnergy({.candidates = {{.library = "none"}}, .asked = kShort});
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().message, "the court has no meter");
}

TEST_F(JudgeEnergyTest, AnEvaluationSaysWhatTheDeviceUsedMeanwhile) {
  FakeCourt court;
  court.meter.watts = 300;
  court.meter.tick_ms = 0;
  court.candidate.takes_time = true;
  const auto begun = std::chrono::steady_clock::now();
  const Evaluation evaluation = court.Time();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  ASSERT_TRUE(evaluation.how->joules);
  EXPECT_GE(*evaluation.how->joules, 300 * 0.02) << "it was timed for 20 ms";
  EXPECT_LE(*evaluation.how->joules, 300 * took.count());
  FakeCourt other;
  other.meter.missing = true;
  EXPECT_FALSE(other.Time().how->joules);
}

TEST_F(JudgeEnergyTest, AnInterruptIsAnErrorAndNoFigure) {
  court_.candidate.interrupted = true;
  const auto measured = Measure(1, kShort);
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().kind, ErrorKind::kInterrupted);
}

}  // namespace
}  // namespace hone::testing
