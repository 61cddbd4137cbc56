#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "judge/testing/fake_worker.h"

namespace hone::testing {
namespace {

// Remembers what it has seen at each address; `us` of the share that is new.
class Rememberer {
 public:
  explicit Rememberer(double least_us) : least_us_(least_us) {}
  double operator()(const FakeCall& call) {
    auto& seen = seen_[call.inputs[0]];
    seen.resize(call.count);
    std::size_t changed = 0;
    for (std::size_t i = 0; i < call.count; ++i) changed += seen[i] != call.inputs[0][i];
    std::copy_n(call.inputs[0], call.count, seen.begin());
    return least_us_ + 100 * static_cast<double>(changed) / static_cast<double>(call.count);
  }

 private:
  double least_us_;
  std::map<const float*, std::vector<float>> seen_;
};

TEST(OnlyChangedGateTest, WhoIsFasterWhereMostInputsStayIsRefused) {
  FakeCourt court;
  court.candidate.call_us = Rememberer(150);
  const Evaluation evaluation = court.Time();
  EXPECT_EQ(evaluation.verdict.outcome, Outcome::kSuspicious);
  EXPECT_TRUE(evaluation.verdict.reason.ends_with("it computes only what changed")) << evaluation.verdict.reason;
  EXPECT_FALSE(evaluation.timing);
}

TEST(OnlyChangedGateTest, WhatCachesGainPasses) {
  FakeCourt court;
  court.candidate.call_us = Rememberer(400);
  const Evaluation evaluation = court.Time();
  EXPECT_TRUE(evaluation.verdict.accepted()) << evaluation.verdict.reason;
  ASSERT_TRUE(evaluation.timing);
  EXPECT_NEAR(evaluation.timing->warm.median_us, 500, 5);  // of the new ones
}

}  // namespace
}  // namespace hone::testing
