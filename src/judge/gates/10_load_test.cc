#include <gtest/gtest.h>

#include <vector>

#include "judge/testing/fake_worker.h"

namespace hone::testing {
namespace {

TEST(LoadGateTest, WhatCannotBeLoadedIsRefusedForWhatTheWorkerSays) {
  FakeCourt court;
  court.candidate.answer = [](const Request& request, Reply&) -> Refusal {
    if (request.ask != Ask::kLoad) return std::nullopt;
    return Refuse(Outcome::kInvalid, "not a module: no hone_run");
  };
  const Verdict verdict = court.Check();
  EXPECT_EQ(verdict.outcome, Outcome::kInvalid);
  EXPECT_EQ(verdict.reason, "not a module: no hone_run");
  EXPECT_EQ(court.candidate.asked, std::vector<Ask>{Ask::kLoad});
}

TEST(LoadGateTest, WhatLoadsPasses) {
  FakeCourt court;
  Examination examination = court.Examine();
  const auto refusal = GateOf("10_load").loaded(examination, {});
  ASSERT_TRUE(refusal);
  EXPECT_FALSE(refusal->has_value());
}

}  // namespace
}  // namespace hone::testing
