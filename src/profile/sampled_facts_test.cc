#include "profile/sampled_facts.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

// A loop that loads, waits for what it loaded, and adds; then a barrier.
class SampledFactsTest : public testing::Test {
 protected:
  SampledFactsTest() {
    using cuda::Unit;
    kernel_.name = "sums";
    kernel_.code = {{.name = "LDG", .width = ".32", .unit = Unit::kGlobalLoad, .bytes = 4, .announces = 2},
                    {.name = "LDS", .width = ".32", .unit = Unit::kShared, .bytes = 4, .announces = 3},
                    {.name = "FADD", .unit = Unit::kSingleAdd, .waits = 1 << 2},
                    {.name = "BAR", .unit = Unit::kBarrier}};
    kernel_.places = {{"k.cu", 7}, {"k.cu", 7}, {"k.cu", 7}, {"k.cu", 9}};
  }
  static std::string Stall(const std::string& reason) { return "smsp__pcsamp_warps_issue_stalled_" + reason; }
  // As CUPTI hands them out: a part of each reason's samples again, in which nothing was issued.
  std::vector<SampledOffset> recorded_ = {
      {0, {{Stall("selected"), 10}, {Stall("lg_throttle"), 5}, {Stall("lg_throttle_not_issued"), 4}}},
      {32, {{Stall("long_scoreboard"), 60}, {Stall("long_scoreboard_not_issued"), 55}, {Stall("not_selected"), 5}}},
      {48, {{Stall("barrier"), 15}, {Stall("selected"), 5}}}};
  cuda::KernelFacts kernel_;
};

TEST_F(SampledFactsTest, SamplesGoToTheInstructionAtTheirOffset) {
  const auto code = JoinSamples(kernel_, recorded_);
  ASSERT_EQ(code.size(), 4u);
  EXPECT_EQ(code[0].samples, 15);
  EXPECT_EQ(code[0].waiting, 5) << "who issues does not wait";
  EXPECT_EQ(code[1].samples, 0);
  EXPECT_EQ(code[2].samples, 65) << "a part is not counted again";
  EXPECT_EQ(code[2].waiting, 60) << "nor does who waits for its turn alone";
  EXPECT_EQ(code[2].reason, "long_scoreboard");
  EXPECT_EQ(code[3].reason, "barrier");
}

TEST_F(SampledFactsTest, WhatIsBeyondTheCodeIsLeftOut) {
  recorded_ = {{64, {{Stall("wait"), 1}}}, {-16, {{Stall("wait"), 1}}}, {1 << 20, {{Stall("wait"), 1}}}};
  for (const SampledCode& one : JoinSamples(kernel_, recorded_)) EXPECT_EQ(one.samples, 0);
}

TEST_F(SampledFactsTest, TheFactsNameTheInstructionThatWaitsAndTheOneThatItWaitsFor) {
  Profile launch(Scope::kLaunch, "sums");
  AddSampleFacts(launch, kernel_, JoinSamples(kernel_, recorded_),
                 [](const cuda::SourcePlace& place) { return place.line == 7 ? "sum += a[i] * s;" : ""; });
  EXPECT_EQ(launch.Get("samples"), 100);
  EXPECT_EQ(launch.Word("top_stall"), "long_scoreboard");
  EXPECT_EQ(launch.Get("top_stall_share"), 0.6);
  EXPECT_EQ(launch.Get("hot_share"), 0.6);
  EXPECT_EQ(launch.Word("hot_stall"), "long_scoreboard");
  EXPECT_EQ(launch.Word("hot_place"), "FADD of line 7 (sum += a[i] * s;)");
  EXPECT_EQ(launch.Word("hot_for"), "LDG.32 of line 7 (sum += a[i] * s;)") << "and not the LDS, which is nearer";
  EXPECT_EQ(WaitingFor("long_scoreboard"), "memory");
  EXPECT_EQ(WaitingFor("something_new"), "something_new");
}

// As an H200 counted it on 2026-11-23: those that wait at a barrier stand a little after it, those that end after EXIT.
TEST_F(SampledFactsTest, WhoWaitsAtABarrierIsSaidToStandThere) {
  using cuda::Unit;
  kernel_.code.insert(
      kernel_.code.end(),
      {{.name = "HFMA2"}, {.name = "LDS", .width = ".32", .unit = Unit::kShared}, {.name = "EXIT"}, {.name = "BRA"}});
  kernel_.places.insert(kernel_.places.end(), {{"k.cu", 11}, {"k.cu", 11}, {"k.cu", 12}, {"k.cu", 12}});
  const auto place = [&](std::int64_t offset, const std::string& reason) {
    Profile launch(Scope::kLaunch, "sums");
    recorded_ = {{offset, {{Stall(reason), 60}}}};
    AddSampleFacts(launch, kernel_, JoinSamples(kernel_, recorded_), {});
    return std::string(launch.Word("hot_place"));
  };
  EXPECT_EQ(place(80, "barrier"), "BAR of line 9");
  EXPECT_EQ(place(48, "barrier"), "BAR of line 9");
  EXPECT_EQ(place(80, "short_scoreboard"), "LDS.32 of line 11");
  EXPECT_EQ(place(112, "drain"), "EXIT of line 12");
  EXPECT_EQ(place(32, "barrier"), "FADD of line 7") << "there is none before it";
}

TEST_F(SampledFactsTest, WithoutLinesItIsTheInstructionAlone) {
  kernel_.places.clear();
  Profile launch(Scope::kLaunch, "sums");
  AddSampleFacts(launch, kernel_, JoinSamples(kernel_, recorded_), {});
  EXPECT_EQ(launch.Word("hot_place"), "FADD");
  Profile none(Scope::kLaunch, "sums");
  AddSampleFacts(none, kernel_, JoinSamples(kernel_, {}), {});
  EXPECT_FALSE(none.Find("samples"));
}

}  // namespace
}  // namespace hone
