#include <gtest/gtest.h>

#include "judge/testing/fake_worker.h"

namespace hone::testing {
namespace {

Verdict After(std::uint64_t after_ns, double call_us, Form form = Form::kModule) {
  FakeCourt court;
  Examination examination = court.Examine(form);
  examination.found.call_us = call_us;
  examination.found.after_us = {static_cast<double>(after_ns) / 1000};
  const auto inputs = court.trial().Draw(0);
  EXPECT_TRUE(inputs);
  const auto refusal = GateOf("42_after_return").soaked(examination, {.inputs = **inputs, .seen = {}});
  EXPECT_TRUE(refusal);
  return refusal.value_or(Refusal()).value_or(Verdict{.outcome = Outcome::kAccepted});
}

TEST(AfterReturnGateTest, WorkOfOtherThreadsAfterTheReturnIsRefused) {
  const Verdict verdict = After(60'000, 100);
  EXPECT_EQ(verdict.outcome, Outcome::kSuspicious);
  EXPECT_EQ(verdict.reason, "went on computing after hone_run had returned: 60 us of processor time in other threads");
}

TEST(AfterReturnGateTest, OnADeviceItIsTheTimeUntilItStandsStill) {
  EXPECT_TRUE(After(19'000, 100, Form::kCudaModule).accepted());
  const Verdict verdict = After(21'000, 100, Form::kCudaModule);
  EXPECT_EQ(verdict.outcome, Outcome::kSuspicious);
  EXPECT_TRUE(verdict.reason.starts_with("the device worked for 21 us after the stream was done")) << verdict.reason;
}

TEST(AfterReturnGateTest, AThreadThatLiesDownAndATenthOfALongCallPass) {
  EXPECT_TRUE(After(24'000, 100).accepted());
  EXPECT_TRUE(After(60'000, 1000).accepted());
}

}  // namespace
}  // namespace hone::testing
