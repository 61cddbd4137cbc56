#include <gtest/gtest.h>

#include "judge/testing/fake_worker.h"

namespace hone::testing {
namespace {

TEST(IdleGateTest, WhoComputesWhileNothingIsAskedIsRefused) {
  FakeCourt court;
  court.candidate.idle_ns = 600'000;
  const Verdict verdict = court.Check();
  EXPECT_EQ(verdict.outcome, Outcome::kSuspicious);
  EXPECT_TRUE(verdict.reason.starts_with("went on computing after hone_run had returned: 0.6 ms of processor time"))
      << verdict.reason;
}

TEST(IdleGateTest, ThreadsThatLieDownPass) {
  FakeCourt court;
  court.candidate.idle_ns = 400'000;
  EXPECT_TRUE(court.Check().accepted());
}

}  // namespace
}  // namespace hone::testing
