#include <gtest/gtest.h>

#include "judge/testing/fake_worker.h"

namespace hone::testing {
namespace {

TEST(CacheShareGateTest, WhoSetsAPartOfTheCacheAsideIsRefused) {
  FakeCourt court;
  court.candidate.answer = [](const Request& request, Reply& reply) -> Refusal {
    if (request.ask == Ask::kRun) reply.persisting_bytes = 4096;
    return std::nullopt;
  };
  const Verdict verdict = court.Check();
  EXPECT_EQ(verdict.outcome, Outcome::kSuspicious);
  EXPECT_EQ(
      verdict.reason,
      "set 4096 bytes of the second-level cache aside: what lies there is not as cold as a cold call has to find it");
}

TEST(CacheShareGateTest, WhoLeavesTheCacheAlonePasses) {
  FakeCourt court;
  EXPECT_TRUE(court.Check().accepted());
}

}  // namespace
}  // namespace hone::testing
