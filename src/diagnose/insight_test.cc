#include "diagnose/insight.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/testing/must.h"
#include "target/cuda/nvrtc.h"
#include "target/shipped_model.h"

namespace hone {
namespace {

using testing::Must;

class InsightTest : public ::testing::Test {
 protected:
  InsightTest() {
    problem_ = Must(ParseProblem(R"({"hone_problem": 1, "name": "half", "tensors": [
        {"name": "x", "shape": [4096, 1024], "dtype": "f32", "role": "input",
         "generator": {"kind": "uniform", "low": 0, "high": 1}},
        {"name": "y", "shape": [4096, 1024], "dtype": "f32", "role": "output"}],
        "graph": [{"op": "mul", "args": {"self": "%x", "other": 0.5}, "outputs": ["y"]}]})",
                                 "test"));
    graph_ = std::make_unique<Graph>(Must(Graph::Create(problem_)));
    cache_ = std::make_unique<TempDirectory>(Must(TempDirectory::Create("insight")));
    setenv("HONE_CACHE", cache_->path().c_str(), 1);
  }
  ~InsightTest() override { unsetenv("HONE_CACHE"); }

  Insight Look(const std::string& program, double time_us, const DeviceModel& device) {
    return LookAt({CandidateKind::kProgram, program}, time_us, {problem_, graph_.get(), device, {}});
  }

  Problem problem_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<TempDirectory> cache_;
};

constexpr std::string_view kHalf =
    "program half\ninput x: f32[4096, 1024]\noutput y: f32[4096, 1024]\ny = map(x) -> it * 0.5\n";

const Finding* Of(const Insight& insight, std::string_view rule) {
  const auto found = std::find_if(insight.findings.begin(), insight.findings.end(),
                                  [&](const Finding& one) { return one.rule == rule; });
  return found == insight.findings.end() ? nullptr : &*found;
}

TEST_F(InsightTest, AMeasuredTimeIsSetBesideTheBound) {
  if (const auto version = cuda::NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
  const DeviceModel device = TypicalDevice();
  const Insight slow = Look(std::string(kHalf), 300, device);
  EXPECT_EQ(slow.missing, "");
  ASSERT_NE(slow.limits.decided(), nullptr);
  EXPECT_EQ(slow.limits.decided()->bottleneck, Bottleneck::kMemory) << slow.limits.decided()->why;
  const Finding* gap = Of(slow, "roofline_gap");
  ASSERT_NE(gap, nullptr);
  EXPECT_GT(gap->lost, 0.9);
  EXPECT_NEAR(gap->loss_us, 300 * gap->lost, 1e-6);
  EXPECT_NE(gap->evidence.find("300 us"), std::string::npos) << gap->evidence;
  const double bound_us = 300 * (1 - gap->lost);
  EXPECT_EQ(Of(Look(std::string(kHalf), 1.05 * bound_us, device), "roofline_gap"), nullptr) << "it is at the bound";
}

TEST_F(InsightTest, TheSameCandidateWithTheSameTimeGivesTheSame) {
  if (const auto version = cuda::NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
  const auto text = [](const Insight& insight) { return ClassJson(insight).dump() + Describe(insight.findings); };
  const Insight once = Look(std::string(kHalf), 100, TypicalDevice());
  EXPECT_FALSE(once.findings.empty());
  EXPECT_LE(once.findings.size(), kMostFindings);
  EXPECT_EQ(text(once), text(Look(std::string(kHalf), 100, TypicalDevice())));
}

TEST_F(InsightTest, WhatADeviceCountedDecidesAndIsKept) {
  if (const auto version = cuda::NvrtcVersion(); !version) GTEST_SKIP() << version.error().message;
  const DeviceModel device = TypicalDevice();
  const Candidate candidate{CandidateKind::kProgram, std::string(kHalf)};
  int asked = 0;
  const auto look = [&](const std::string& missing) {
    return LookAt(candidate, 20, {problem_, graph_.get(), device, {}}, [&](CandidateProfiles& made) {
      ++asked;
      for (Profile& profile : made.profiles) {
        if (profile.scope == Scope::kPlan) profile.Set("time_us", 7, FactSource::kTiming);  // of its own run
        if (profile.scope != Scope::kLaunch || !missing.empty()) continue;
        profile.Set("dram_busy", 0.1, FactSource::kCounter);
        profile.Set("fma_busy", 0.9, FactSource::kCounter);
      }
      return missing;
    });
  };
  const Insight counted = look("");
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(counted.missing, "");
  ASSERT_TRUE(counted.limits.by_counters);
  EXPECT_EQ(counted.limits.decided()->bottleneck, Bottleneck::kCompute);
  ASSERT_EQ(counted.counted.size(), 1u);
  EXPECT_EQ(counted.counted[0].facts.at("fma_busy"), 0.9);
  EXPECT_EQ(counted.counted[0].facts.at("time_us"), 20);
  EXPECT_FALSE(counted.counted[0].facts.contains("registers")) << "its build says that, too";
  const Insight read = Must(ParseClassJson(ClassJson(counted)));
  ASSERT_EQ(read.counted.size(), 1u);
  EXPECT_EQ(read.counted[0].subject, counted.counted[0].subject);
  EXPECT_EQ(read.counted[0].facts, counted.counted[0].facts);

  const Insight alone = look("no CUPTI");
  EXPECT_EQ(alone.missing, "no CUPTI");
  EXPECT_TRUE(alone.counted.empty());
  EXPECT_FALSE(alone.limits.by_counters);
  EXPECT_FALSE(alone.findings.empty());
  const Insight without = LookAt(candidate, 20, {problem_, graph_.get(), device, {}});
  EXPECT_EQ(Describe(alone.findings), Describe(without.findings)) << "the judge's time counts";
  EXPECT_FALSE(ClassJson(without).contains("counted"));
}

TEST_F(InsightTest, WhatCannotBeLookedAtSaysWhy) {
  const Insight none = Look("program half\nnonsense\n", 5, TypicalDevice());
  EXPECT_NE(none.missing, "");
  EXPECT_EQ(none.missing.find('\n'), std::string::npos);
  EXPECT_TRUE(none.findings.empty());
  EXPECT_EQ(none.limits.decided(), nullptr);
  const Insight read = Must(ParseClassJson(ClassJson(none)));
  EXPECT_EQ(read.missing, none.missing);
}

TEST_F(InsightTest, AClassOfNoKindOfOursIsRefused) {
  EXPECT_TRUE(ParseClassJson(nlohmann::json::object()));
  EXPECT_FALSE(ParseClassJson(nlohmann::json::parse(R"({"by_analysis": {"class": "lunch"}})")));
  EXPECT_FALSE(ParseClassJson(nlohmann::json("memory")));
}

}  // namespace
}  // namespace hone
