#include "diagnose/diagnose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hone {
namespace {

Profile Launch(std::initializer_list<std::pair<const char*, double>> facts) {
  Profile profile(Scope::kLaunch, "kernel");
  for (const auto& [name, value] : facts) profile.Set(name, value, FactSource::kAnalytic);
  return profile;
}

Bottleneck ClassOf(std::initializer_list<std::pair<const char*, double>> facts) {
  const Classification of = Classify(Launch(facts));
  EXPECT_NE(of.decided(), nullptr);
  return of.decided() == nullptr ? Bottleneck::kBalanced : of.decided()->bottleneck;
}

TEST(BottleneckTest, AnalysisGoesByWhatTakesLongest) {
  EXPECT_EQ(ClassOf({{"bytes_limit_us", 10}, {"flops_limit_us", 3}}), Bottleneck::kMemory);
  EXPECT_EQ(ClassOf({{"bytes_limit_us", 3}, {"flops_limit_us", 10}}), Bottleneck::kCompute);
  EXPECT_EQ(ClassOf({{"bytes_limit_us", 10}, {"flops_limit_us", 9}}), Bottleneck::kBalanced);
  EXPECT_EQ(ClassOf({{"bytes_limit_us", 1}, {"flops_limit_us", 0.2}, {"launch_us", 1}}), Bottleneck::kLaunch);
  EXPECT_EQ(ClassOf({{"busy_multiprocessors", 0.25}, {"bytes_limit_us", 10}, {"flops_limit_us", 3}}),
            Bottleneck::kLatency);
  // What a kernel issues, not what its problem needs.
  EXPECT_EQ(ClassOf({{"issue_to_memory", 3}, {"bytes_limit_us", 10}, {"flops_limit_us", 3}}), Bottleneck::kCompute);
  EXPECT_EQ(Classify(Launch({})).decided(), nullptr);
}

TEST(BottleneckTest, CountersDecideAndADisagreementIsShown) {
  const Classification of = Classify(Launch(
      {{"bytes_limit_us", 10}, {"flops_limit_us", 3}, {"dram_busy", 0.2}, {"fma_busy", 0.1}, {"tensor_busy", 0}}));
  EXPECT_EQ(of.by_analysis->bottleneck, Bottleneck::kMemory);
  EXPECT_EQ(of.by_counters->bottleneck, Bottleneck::kLatency);
  EXPECT_EQ(of.decided(), &*of.by_counters);
  EXPECT_TRUE(of.disagree());
  EXPECT_EQ(ClassOf({{"dram_busy", 0.9}, {"fma_busy", 0.5}}), Bottleneck::kMemory);
  EXPECT_EQ(ClassOf({{"dram_busy", 0.5}, {"tensor_busy", 0.9}}), Bottleneck::kCompute);
  EXPECT_EQ(ClassOf({{"dram_busy", 0.85}, {"fma_busy", 0.9}}), Bottleneck::kBalanced);
  EXPECT_EQ(ClassOf({{"dram_busy", 0.46}, {"fma_busy", 0.53}, {"issue_busy", 0.87}}), Bottleneck::kCompute)
      << "no unit is busy, and there is no slot left to issue for another";
}

// Narrow accesses and spills, which serve classes of their own.
Profile Faulty() {
  return Launch({{"wide_access_share", 0},
                 {"access_bytes", 4},
                 {"spill_share", 0.01},
                 {"spill_store_bytes", 8},
                 {"spill_load_bytes", 8},
                 {"registers", 32},
                 {"unfused_share", 1},
                 {"single_share", 0.5},
                 {"single_unfused", 10},
                 {"single_fused", 0}});
}

std::vector<std::string> RulesOf(const Diagnosis& diagnosis) {
  std::vector<std::string> rules;
  for (const Finding& finding : diagnosis.findings) rules.push_back(finding.rule);
  return rules;
}

TEST(DiagnoseTest, RulesOfTheClassAreAskedAndRankedByWhatTheyCost) {
  Profile memory = Faulty();
  memory.Set("bytes_limit_us", 100, FactSource::kAnalytic);
  memory.Set("flops_limit_us", 1, FactSource::kAnalytic);
  EXPECT_EQ(RulesOf(Diagnose({memory})), (std::vector<std::string>{"vector_width", "spills"}));
  Profile compute = Faulty();
  compute.Set("bytes_limit_us", 1, FactSource::kAnalytic);
  compute.Set("flops_limit_us", 100, FactSource::kAnalytic);
  EXPECT_EQ(RulesOf(Diagnose({compute})), (std::vector<std::string>{"fma_fusion", "spills"}));
  // Where the class is not known all are asked.
  EXPECT_EQ(Diagnose({Faulty()}).findings.size(), 3u);
}

TEST(DiagnoseTest, WhatIsLostIsInMicrosecondsWhereTheTimeIsKnown) {
  Profile timed = Faulty();
  timed.Set("time_us", 200, FactSource::kTiming);
  for (const Finding& finding : Diagnose({timed}).findings) EXPECT_DOUBLE_EQ(finding.loss_us, 200 * finding.lost);
  Profile bound = Faulty();
  bound.Set("step_limit_us", 30, FactSource::kAnalytic);
  const Diagnosis diagnosis = Diagnose({bound});
  ASSERT_FALSE(diagnosis.findings.empty());
  for (const Finding& finding : diagnosis.findings) EXPECT_NEAR(finding.loss_us, 30 / (1 - finding.lost) - 30, 1e-9);
}

TEST(DiagnoseTest, NoFaultCostsMoreThanWhatIsLeftAboveTheLimit) {
  const auto lost = [](double time_us) {
    Profile profile = Faulty();
    profile.Set("time_us", time_us, FactSource::kTiming);
    profile.Set("step_limit_us", 100, FactSource::kAnalytic);
    double most = 0;
    for (const Finding& one : Diagnose({std::move(profile)}).findings) most = std::max(most, one.lost);
    return most;
  };
  EXPECT_GT(lost(1000), 0.1);
  EXPECT_NEAR(lost(105), 1 - 100.0 / 105, 1e-9);
  EXPECT_EQ(lost(100.5), 0) << "at the speed of the memory nothing is left to mend";
}

TEST(DiagnoseTest, ManyLaunchesCostTheirNumberTimesTheTimeOfOne) {
  Profile plan(Scope::kPlan, "plan");
  for (const auto& [name, value] :
       {std::pair{"launches", 4.0}, {"launch_us", 1.0}, {"bound_us", 0.5}, {"launch_share", 4 / 4.5}})
    plan.Set(name, value, FactSource::kAnalytic);
  const Diagnosis diagnosis = Diagnose({plan});
  ASSERT_EQ(RulesOf(diagnosis), std::vector<std::string>{"launch_bound"});
  EXPECT_NEAR(diagnosis.findings[0].loss_us, 3, 1e-9);
}

TEST(DiagnoseTest, AtMostFiveAreHandedOnAndTheRestIsCounted) {
  std::vector<Profile> many(4, Faulty());
  const Diagnosis diagnosis = Diagnose(many);
  EXPECT_EQ(diagnosis.findings.size(), kMostFindings);
  EXPECT_EQ(diagnosis.left_out, 12 - kMostFindings);
  EXPECT_NE(Describe(diagnosis).find("and 7 more"), std::string::npos);
}

TEST(DiagnoseTest, RulesWithoutTheirFactsSaySo) {
  const Diagnosis diagnosis = Diagnose({Faulty()});
  const auto& silent = diagnosis.subjects[0].silent;
  const auto found =
      std::find_if(silent.begin(), silent.end(), [](const auto& one) { return one.rule == "coalescing"; });
  ASSERT_NE(found, silent.end());
  EXPECT_EQ(found->lacks.front(), "worst_sector_bytes");
}

TEST(DiagnoseTest, AFindingIsTheSameAfterItsRecord) {
  for (const Finding& finding : Diagnose({Faulty()}).findings) {
    const auto read = ParseFinding(ToJson(finding), "a finding");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(ToJson(*read), ToJson(finding));
  }
  EXPECT_FALSE(ParseFinding(nlohmann::json::parse(R"({"rule": 3})"), "a finding"));
}

}  // namespace
}  // namespace hone
