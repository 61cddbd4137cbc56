#include "base/interrupt.h"

#include <gtest/gtest.h>

#include "base/process.h"

namespace hone {
namespace {

using std::chrono::milliseconds;

class InterruptTest : public testing::Test {
 protected:
  void TearDown() override { ForgetInterrupt(); }
};

TEST_F(InterruptTest, TheFirstWishCounts) {
  EXPECT_FALSE(InterruptFlag());
  AskToStop(Interrupt::kTerminated);
  AskToStop(Interrupt::kTimeIsUp);
  EXPECT_TRUE(InterruptFlag());
  EXPECT_EQ(InterruptCause(), Interrupt::kTerminated);
}

TEST_F(InterruptTest, ATimeLimitAsksWhenItsTimeComesAndNotAfterItsEnd) {
  {
    const TimeLimit long_one{std::chrono::hours(1)};
  }
  EXPECT_FALSE(InterruptFlag());
  const TimeLimit limit{milliseconds(20)};
  for (int i = 0; i < 500 && !InterruptFlag(); ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(InterruptCause(), Interrupt::kTimeIsUp);
}

TEST_F(InterruptTest, WhileATimeLimitIsPausedNoTimePasses) {
  TimeLimit limit{milliseconds(150)};
  limit.Pause();
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_FALSE(InterruptFlag());
  limit.GoOn();
  EXPECT_FALSE(InterruptFlag()) << "what was left is left";
  for (int i = 0; i < 500 && !InterruptFlag(); ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(InterruptCause(), Interrupt::kTimeIsUp);
}

TEST_F(InterruptTest, ATimeLimitMayEndWhileItIsPaused) {
  {
    TimeLimit limit{milliseconds(1000)};
    limit.Pause();
  }
  EXPECT_FALSE(InterruptFlag());
}

TEST_F(InterruptTest, AllBelowAreGoneWhenTheyAreEnded) {
  auto child = Child::Start({.argv = {"/bin/sh", "-c", "setsid sleep 60 & setsid sleep 60 & echo here; wait"}});
  ASSERT_TRUE(child);
  ASSERT_TRUE(child->ReadLine(std::chrono::seconds(10)));
  std::vector<pid_t> pids;
  for (int i = 0; i < 500 && pids.size() < 2; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    pids = Descendants(child->pid());
  }
  ASSERT_EQ(pids.size(), 2u);
  AllBelow below(child->pid());
  child->Kill();
  EXPECT_TRUE(below.End(std::chrono::seconds(10))) << "they had process groups of their own";
}

TEST_F(InterruptTest, AChildThatIsWaitedForIsEndedWithinASecond) {
  const TimeLimit limit{milliseconds(100)};
  const auto begin = std::chrono::steady_clock::now();
  const auto exit = hone::Run({.argv = {"/bin/sleep", "60"}});
  ASSERT_FALSE(exit);
  EXPECT_EQ(exit.error().kind, ErrorKind::kInterrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

}  // namespace
}  // namespace hone
