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
