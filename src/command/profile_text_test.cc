#include "command/profile_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace hone {
namespace {

TEST(ProfileTextTest, TheTimelineHasGapsAndStepsAndSaysHowItWasAskedFor) {
  ProfiledReport report;
  report.as_graph = true;
  report.timeline = {{0, EventKind::kKernel, "first", 0, 10},
                     {1, EventKind::kMemset, "", 12, 13},
                     {-1, EventKind::kKernel, "library", 12.5, 20}};
  const std::string text = DescribeTimeline(report);
  EXPECT_NE(text.find("as one CUDA graph: 20 us, of which the device does nothing for 2 us"), std::string::npos)
      << text;
  EXPECT_NE(text.find("+2.00  memset, /steps/1"), std::string::npos) << text;
  EXPECT_NE(text.find("-0.50  library\n"), std::string::npos) << text;
  EXPECT_EQ(DescribeTimeline({}), "");
}

TEST(ProfileTextTest, WhatARunKeptReadsAsWhatWasCounted) {
  const std::vector<CountedFacts> counted = {
      {"products", "/steps/1", {{"dram_read_bytes", 2.5e7}, {"tensor_busy", 0.5}, {"of another version", 1}}}};
  const std::string text = DescribeCounted(counted);
  EXPECT_NE(text.find("[1] products, /steps/1"), std::string::npos) << text;
  EXPECT_NE(text.find("50.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("MB"), std::string::npos) << text;
  EXPECT_EQ(text.find("another"), std::string::npos) << text;
  EXPECT_EQ(DescribeCounted({}), "");
}

TEST(ProfileTextTest, TwoWaysOfCountingAreAsFarApartAsTheyAreBeyondNcusTwoDigits) {
  ProfiledReport counted, oracle;
  counted.metrics = {"a", "b", "c"};
  counted.kernels = {{0, "k", {100, 0.024, std::nan("")}}};
  oracle.metrics = {"b", "a", "c"};  // by name, not by place
  oracle.kernels = {{-1, "k", {0.02, 103, 1}}};
  const auto rows = Compare(counted, oracle);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].metric, "a");
  EXPECT_NEAR(rows[0].apart(), (3 - 0.0051) / 103, 1e-12);
  EXPECT_EQ(rows[1].apart(), 0);
  EXPECT_NE(Describe(rows).find("1 of 2 metrics within 2 %"), std::string::npos) << Describe(rows);
  EXPECT_EQ(ToJson(rows).size(), 2u);
  counted.kernels.push_back(counted.kernels[0]);
  EXPECT_TRUE(Compare(counted, oracle).empty());  // nobody knows which kernel is which
}

TEST(ProfileTextTest, MeasuredFactsStandInColumnsWithTheirUnits) {
  Subject subject;
  subject.profile = Profile(Scope::kLaunch, "kernel");
  subject.profile.Set("dram_busy", 0.8, FactSource::kCounter);
  subject.profile.Set("dram_read_bytes", 268e6, FactSource::kCounter);
  subject.profile.Set("registers", 32, FactSource::kCubin);
  const std::string text = DescribeMeasured({&subject, 1});
  EXPECT_NE(text.find("80.0 %  of the peak of the device's memory"), std::string::npos) << text;
  EXPECT_NE(text.find("268 MB"), std::string::npos) << text;
  EXPECT_EQ(text.find("registers"), std::string::npos) << text;
  subject.profile = Profile(Scope::kPlan, "plan");
  EXPECT_EQ(DescribeMeasured({&subject, 1}), "");
}

}  // namespace
}  // namespace hone
