#include <gtest/gtest.h>

#include "judge/testing/fake_worker.h"

namespace hone::testing {
namespace {

TEST(BoundGateTest, WhoIsFasterThanTheMachineCanIsRefused) {
  FakeCourt court;
  const Evaluation evaluation = court.Time(120);
  EXPECT_EQ(evaluation.verdict.outcome, Outcome::kSuspicious);
  EXPECT_EQ(evaluation.verdict.reason,
            "faster than this machine can: 100.00 us from cold caches, the bound is 120.00 us (the tensors are 32768 "
            "bytes, which would be 0.3 GB/s)");
}

TEST(BoundGateTest, TenInAHundredBelowAMeasuredBoundPass) {
  FakeCourt court;
  EXPECT_TRUE(court.Time(110).verdict.accepted());
}

}  // namespace
}  // namespace hone::testing
