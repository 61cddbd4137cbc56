#include <gtest/gtest.h>

#include "judge/testing/fake_worker.h"

namespace hone::testing {
namespace {

TEST(AfterTimingGateTest, WhoIsNoLongerRightOnceItWasTimedIsRefused) {
  FakeCourt court;
  bool timed = false;
  court.candidate.run = [&timed](const FakeCall& call) {
    timed |= call.timed;
    FakeCourt::Compute(call);
    if (timed && !call.timed) call.outputs[0][0] += 1;
  };
  const Evaluation evaluation = court.Time();
  EXPECT_EQ(evaluation.verdict.outcome, Outcome::kWrongResult);
  EXPECT_TRUE(evaluation.verdict.reason.starts_with("no longer right after the timing: ")) << evaluation.verdict.reason;
  EXPECT_EQ(evaluation.verdict.evidence->draw, "seed 4, after timing");
}

TEST(AfterTimingGateTest, WhoIsStillRightPasses) {
  FakeCourt court;
  EXPECT_TRUE(court.Time().verdict.accepted());
}

}  // namespace
}  // namespace hone::testing
