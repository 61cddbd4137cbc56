#include <gtest/gtest.h>

#include "judge/testing/fake_worker.h"

namespace hone::testing {
namespace {

TEST(LastingGateTest, WhoIsRightInTheFirstCallsOnlyIsRefused) {
  FakeCourt court;
  court.candidate.run = [](const FakeCall& call) {
    FakeCourt::Compute(call);
    if (call.before >= 20) call.outputs[0][0] += 1;  // two calls a draw, on six draws
  };
  const Verdict verdict = court.Check();
  EXPECT_EQ(verdict.outcome, Outcome::kWrongResult);
  EXPECT_TRUE(verdict.reason.starts_with("right in its first calls only: ")) << verdict.reason;
}

TEST(LastingGateTest, WhoIsRightAgainPasses) {
  FakeCourt court;
  court.candidate.run = [](const FakeCall& call) {
    FakeCourt::Compute(call);
    if (call.before == 20) call.outputs[0][0] += 1;  // of the many that nobody looks at
  };
  EXPECT_TRUE(court.Check().accepted());
}

}  // namespace
}  // namespace hone::testing
