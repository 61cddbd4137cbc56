#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "judge/testing/fake_worker.h"

namespace hone::testing {
namespace {

TEST(ValuesGateTest, WhatIsRightTwiceOnEachDrawPasses) {
  FakeCourt court;
  const Verdict verdict = court.Check();
  EXPECT_TRUE(verdict.accepted()) << verdict.reason;
  EXPECT_TRUE(verdict.bit_reproducible);
  EXPECT_EQ(verdict.range, "componentwise");
}

TEST(ValuesGateTest, AWrongElementIsNamedWithWhatWasExpected) {
  FakeCourt court;
  court.candidate.run = [](const FakeCall& call) {
    FakeCourt::Compute(call);
    call.outputs[0][65] += 1;
  };
  const Verdict verdict = court.Check();
  EXPECT_EQ(verdict.outcome, Outcome::kWrongResult);
  EXPECT_EQ(verdict.evidence->draw, "seed 1");
  EXPECT_EQ(verdict.evidence->index, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(verdict.evidence->wrong_elements, 1);
}

TEST(ValuesGateTest, RightOnceAndWrongOnceIsNondeterministic) {
  FakeCourt court;
  court.candidate.run = [](const FakeCall& call) {
    FakeCourt::Compute(call);
    if (call.view != 0) call.outputs[0][0] += 1;
  };
  const Verdict verdict = court.Check();
  EXPECT_EQ(verdict.outcome, Outcome::kNondeterministic);
  EXPECT_TRUE(verdict.reason.starts_with("right once and wrong once on the same inputs: ")) << verdict.reason;
}

TEST(ValuesGateTest, ACopyOfAnInputIsCalledSo) {
  FakeCourt court;
  court.candidate.run = [](const FakeCall& call) {
    for (std::size_t i = 0; i < call.count; ++i) call.outputs[0][i] = call.inputs[0][i];
  };
  const Verdict verdict = court.Check();
  EXPECT_EQ(verdict.outcome, Outcome::kWrongResult);
  EXPECT_TRUE(verdict.reason.ends_with("; the output is a copy of input 'x'")) << verdict.reason;
}

TEST(ValuesGateTest, OutputsOfAnEarlierCallAreCalledSo) {
  FakeCourt court;
  std::vector<float> kept;  // of the first call ever
  court.candidate.run = [&kept](const FakeCall& call) {
    FakeCourt::Compute(call);
    if (kept.empty()) kept.assign(call.outputs[0], call.outputs[0] + call.count);
    if (call.view == 0) std::copy(kept.begin(), kept.end(), call.outputs[0]);
  };
  const Verdict verdict = court.Check();
  EXPECT_EQ(verdict.evidence->draw, "seed 2");
  EXPECT_TRUE(verdict.reason.ends_with("; these would be right as the outputs of an earlier call (inputs: seed 1)"))
      << verdict.reason;
}

TEST(ValuesGateTest, WritingBesideAnOutputIsOutOfBounds) {
  FakeCourt court;
  court.candidate.run = [](const FakeCall& call) {
    FakeCourt::Compute(call);
    call.outputs[0][-1] = 0;
  };
  const Verdict verdict = court.Check();
  EXPECT_EQ(verdict.outcome, Outcome::kOutOfBounds);
  EXPECT_EQ(verdict.reason, "wrote 1 bytes before the start of output 'y' (4 bytes in all)");
}

TEST(ValuesGateTest, WhatIsWrittenAfterTheReturnIsSuspicious) {
  FakeCourt court;
  std::vector<FakeCall> unfinished;
  court.candidate.run = [&](const FakeCall& call) { unfinished.push_back(call); };
  court.candidate.busy = [&] {  // whoever looks is late enough
    for (const FakeCall& call : unfinished) FakeCourt::Compute(call);
    unfinished.clear();
    return false;
  };
  const Verdict verdict = court.Check();
  EXPECT_EQ(verdict.outcome, Outcome::kSuspicious);
  EXPECT_EQ(verdict.reason, "hone_run returned before output 'y' was written: it still changed afterwards");
}

TEST(ValuesGateTest, ACrashOnADrawIsTheVerdictWithItsName) {
  FakeCourt court;
  int runs = 0;
  court.candidate.answer = [&](const Request& request, Reply&) -> Refusal {
    if (request.ask != Ask::kRun || ++runs != 3) return std::nullopt;
    return Refuse(Outcome::kCrash, "crashed with SIGSEGV");
  };
  const Verdict verdict = court.Check();
  EXPECT_EQ(verdict.outcome, Outcome::kCrash);
  EXPECT_EQ(verdict.evidence->draw, "seed 2");
}

}  // namespace
}  // namespace hone::testing
