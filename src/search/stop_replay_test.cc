#include "search/stop_replay.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

const Budget kNoLimit{.attempts = 1000, .seconds = 0, .headroom = -1};
// Two seconds each.
const std::vector<StopPoint> kRun = {{2, 0}, {2, 100}, {2, 80}, {2, 79.5}, {2, 0}, {2, 85}, {2, 40}, {2, 41}};

TEST(StopReplayTest, ARuleStopsTheSameAttemptsEarlier) {
  Budget idle = kNoLimit;
  idle.idle = 2;
  const StoppedAt at = StopBy(idle, kRun, 0);
  EXPECT_EQ(at.attempts, 5) << "79.5 is no progress over 80";
  EXPECT_EQ(at.seconds, 10);
  EXPECT_EQ(at.best, 79.5);
  EXPECT_EQ(at.reason, "2 attempts in a row brought no progress");
  Budget headroom = kNoLimit;
  headroom.headroom = 0.3;
  EXPECT_EQ(StopBy(headroom, kRun, 60).attempts, 3) << "60 of 80";
  EXPECT_EQ(StopBy(headroom, kRun, 0).attempts, 8) << "no bound, no headroom";
  Budget time = kNoLimit;
  time.seconds = 7;
  EXPECT_EQ(StopBy(time, kRun, 0).attempts, 4) << "what begins before the end is ended";
  Budget attempts = kNoLimit;
  attempts.attempts = 2;
  EXPECT_EQ(StopBy(attempts, kRun, 0).reason, "all 2 attempts are made");
}

TEST(StopReplayTest, JoulesAreThoseOfTheAttempts) {
  const std::vector<StopPoint> run = {{2, 0, 1}, {2, 100, 40}, {2, 80, 30}, {2, 60, 30}};
  Budget joules = kNoLimit;
  joules.joules = 50;
  const StoppedAt at = StopBy(joules, run, 0);
  EXPECT_EQ(at.attempts, 3);
  EXPECT_EQ(at.joules, 71) << "what begins before the end is ended";
  EXPECT_EQ(at.reason, "the 50 J are used");
}

TEST(StopReplayTest, ARuleThatDoesNotStopItKeepsAll) {
  const StoppedAt at = StopBy(kNoLimit, kRun, 0);
  EXPECT_EQ(at.attempts, 8);
  EXPECT_EQ(at.seconds, 16);
  EXPECT_EQ(at.best, 40);
  EXPECT_EQ(at.reason, "");
}

TEST(StopReplayTest, ABudgetIsWordsAsOptimizeTakesThem) {
  const auto budget = ParseBudget("--stop", "--budget 20 time 60 joules 900 headroom 0.1 --idle 8", kNoLimit);
  ASSERT_TRUE(budget) << budget.error().message;
  EXPECT_EQ(budget->attempts, 20);
  EXPECT_EQ(budget->seconds, 60);
  EXPECT_EQ(budget->joules, 900);
  EXPECT_EQ(budget->headroom, 0.1);
  EXPECT_EQ(budget->idle, 8);
  EXPECT_EQ(ParseBudget("--stop", "", kNoLimit)->attempts, 1000);
  const auto message = [](const std::string& words) { return ParseBudget("--stop", words, kNoLimit).error().message; };
  EXPECT_EQ(message("seed 3"), "--stop: 'seed' is none of --budget, --time, --joules, --headroom, --idle");
  EXPECT_EQ(message("idle"), "--stop: --idle needs a value");
  EXPECT_EQ(message("idle soon"), "--stop: 'soon' is no number");
  EXPECT_EQ(message("idle 1.5"), "--stop: --idle is a number of attempts, 0 at least");
  EXPECT_EQ(message("headroom -1"), "--stop: --headroom is 0 at least, not -1");
  EXPECT_EQ(message("time -0.5"), "--stop: --time is 0 at least, not -0.5");
  EXPECT_EQ(message("--budget 0"), "--stop: --budget is a number of attempts, 1 at least");
}

}  // namespace
}  // namespace hone
