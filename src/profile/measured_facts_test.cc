#include "profile/measured_facts.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hone {
namespace {

TEST(MeasuredFactsTest, MetricsBecomeFactsInTheirUnits) {
  Profile launch(Scope::kLaunch, "kernel");
  launch.Set("step_bytes", 1000, FactSource::kAnalytic);
  const std::vector<std::string> metrics = {"gpu__time_duration.sum",
                                            "dram__throughput.avg.pct_of_peak_sustained_elapsed",
                                            "dram__bytes_read.sum",
                                            "dram__bytes_write.sum",
                                            "smsp__average_warp_latency_per_inst_issued.ratio",
                                            "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
                                            "nobody__knows.sum"};
  AddCounterFacts(launch, metrics, std::vector<double>{52'000, 80, 1200, 300, 20, 5, 1});
  EXPECT_DOUBLE_EQ(launch.Get("replay_us").value(), 52);
  EXPECT_DOUBLE_EQ(launch.Get("dram_busy").value(), 0.8);
  EXPECT_DOUBLE_EQ(launch.Get("stall_barrier").value(), 0.25);
  EXPECT_DOUBLE_EQ(launch.Get("traffic_ratio").value(), 1.5);
  EXPECT_EQ(launch.Find("dram_busy")->source, FactSource::kCounter);
  EXPECT_DOUBLE_EQ(launch.Get("time_us").value(), 52);
  AddTime(launch, 50);  // what a run says is worth more than a replay
  EXPECT_DOUBLE_EQ(launch.Get("time_us").value(), 50);
  EXPECT_EQ(launch.Find("time_us")->source, FactSource::kTiming);
}

TEST(MeasuredFactsTest, WhatMakesNoSenseForAKernelIsNoFact) {
  Profile launch(Scope::kLaunch, "kernel");
  const std::vector<std::string> metrics = {"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio",
                                            "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio",
                                            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
                                            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
                                            "lts__t_sectors_lookup_hit.sum",
                                            "lts__t_sectors_lookup_miss.sum"};
  AddCounterFacts(launch, metrics, std::vector<double>{0, 16, 0, std::nan(""), 0, 0});
  EXPECT_FALSE(launch.Get("load_sector_bytes"));
  EXPECT_DOUBLE_EQ(launch.Get("worst_sector_bytes").value(), 16);
  EXPECT_FALSE(launch.Get("conflict_share"));
  EXPECT_FALSE(launch.Get("l2_hit_share"));
  EXPECT_FALSE(launch.Get("time_us"));
}

TEST(MeasuredFactsTest, GapsAndOverlapsAreOfTheDevice) {
  Profile whole(Scope::kPlan, "plan");
  whole.Set("bound_us", 10, FactSource::kAnalytic);
  const TimelinePart parts[] = {{0, 10}, {12, 20}, {15, 18}, {18, 30}};
  AddTimelineFacts(whole, parts);
  EXPECT_DOUBLE_EQ(whole.Get("time_us").value(), 30);
  EXPECT_DOUBLE_EQ(whole.Get("time_ratio").value(), 3);
  EXPECT_DOUBLE_EQ(whole.Get("gap_us").value(), 2);
  EXPECT_DOUBLE_EQ(whole.Get("overlap_us").value(), 5);  // 15 to 18, and 18 to 20
  EXPECT_NEAR(whole.Get("gap_share").value(), 1.0 / 15, 1e-12);
  Profile nothing(Scope::kPlan, "plan");
  AddTimelineFacts(nothing, {});
  EXPECT_TRUE(nothing.facts().empty());
}

}  // namespace
}  // namespace hone
