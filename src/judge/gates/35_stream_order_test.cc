#include <gtest/gtest.h>

#include "judge/testing/fake_worker.h"

namespace hone::testing {
namespace {

class StreamOrderGateTest : public ::testing::Test {
 protected:
  StreamOrderGateTest() : examination_(court_.Examine(Form::kCudaModule)) {
    court_.candidate.answer = [this](const Request& request, Reply& reply) -> Refusal {
      if (request.held != 0) reply.held = held_;
      return std::nullopt;
    };
  }
  Refusal Look() {
    const auto inputs = court_.trial().Draw(0);
    EXPECT_TRUE(inputs);
    const auto refusal = GateOf("35_stream_order").drawn(examination_, {.inputs = **inputs, .which = 0});
    EXPECT_TRUE(refusal);
    return refusal.value_or(Refusal());
  }
  FakeCourt court_;
  Examination examination_;
  std::uint32_t held_ = 1;
};

TEST_F(StreamOrderGateTest, WhoWritesWhileTheStreamIsHeldIsRefused) {
  const Refusal refusal = Look();
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->outcome, Outcome::kSuspicious);
  EXPECT_EQ(refusal->reason,
            "wrote outputs before its stream came to it: work on other streams has to wait for call->stream, too");
}

TEST_F(StreamOrderGateTest, WhoWaitsForTheStreamPasses) {
  court_.candidate.run = [](const FakeCall&) {};
  EXPECT_FALSE(Look());
}

TEST_F(StreamOrderGateTest, WhoWaitsInHoneRunUntilItIsLetGoPasses) {
  held_ = 0;
  EXPECT_FALSE(Look());
}

}  // namespace
}  // namespace hone::testing
