#include <gtest/gtest.h>

#include "judge/testing/fake_worker.h"

namespace hone::testing {
namespace {

TEST(ThreadsGateTest, WhoComputesOnMoreProcessorsThanItHasThreadsIsRefused) {
  FakeCourt court;
  court.candidate.processors = 3.5;
  court.candidate.call_us = [](const FakeCall&) { return 20e3; };  // enough of them for the gate on a busy machine, too
  const Verdict verdict = court.Time().verdict;
  EXPECT_EQ(verdict.outcome, Outcome::kSuspicious);
  EXPECT_EQ(verdict.reason, "computes on 3.5 processors while it is timed, where 1 thread is given to it");
  EXPECT_EQ(court.candidate.workers, 3);  // tried again by another one
}

TEST(ThreadsGateTest, WhoKeepsToItsThreadsPasses) {
  FakeCourt court;
  court.candidate.processors = 1.4;
  court.candidate.call_us = [](const FakeCall&) { return 2000.0; };
  EXPECT_TRUE(court.Time().verdict.accepted());
}

}  // namespace
}  // namespace hone::testing
