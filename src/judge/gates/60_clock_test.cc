#include <gtest/gtest.h>

#include "judge/testing/fake_worker.h"

namespace hone::testing {
namespace {

TEST(ClockGateTest, AClockThatRunsSlowIsRefusedOnceItWasTriedAgain) {
  FakeCourt court;
  court.candidate.lies_by = 3;
  const Evaluation evaluation = court.Time();
  EXPECT_EQ(evaluation.verdict.outcome, Outcome::kSuspicious);
  EXPECT_EQ(evaluation.verdict.reason, "the clock inside says 3000 us, outside 9000 us passed");
  EXPECT_EQ(court.candidate.workers, 3);  // one that is checked, two that are timed
}

TEST(ClockGateTest, AClockThatLiesAboutSingleCallsIsRefused) {
  FakeCourt court;
  court.candidate.answer = [](const Request& request, Reply& reply) -> Refusal {
    if (request.ask == Ask::kTime && request.repeats == 1) reply.nanoseconds /= 10;
    return std::nullopt;
  };
  const Evaluation evaluation = court.Time();
  EXPECT_EQ(evaluation.verdict.outcome, Outcome::kSuspicious);
  EXPECT_EQ(evaluation.verdict.reason,
            "the clock inside says 10.00 us for a single call, but 100.00 us a call when many are timed together");
}

TEST(ClockGateTest, AClockThatTellsTheTimePasses) {
  FakeCourt court;
  EXPECT_TRUE(court.Time().verdict.accepted());
  EXPECT_EQ(court.candidate.workers, 2);
}

}  // namespace
}  // namespace hone::testing
