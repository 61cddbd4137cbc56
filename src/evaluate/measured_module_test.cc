#include "evaluate/measured_module.h"

#include <gtest/gtest.h>

#include "target/shipped_model.h"

namespace hone {
namespace {

class MeasuredModuleTest : public testing::Test {
 protected:
  MeasuredModuleTest() {
    for (const char* name : {"first", "never_launched"}) {
      cuda::KernelFacts kernel{.name = name, .registers = 32};
      kernels_.push_back(kernel);
      profiles_.emplace_back(Scope::kLaunch, name);
    }
    profiles_.emplace_back(Scope::kPlan, "module.cu");
  }
  std::vector<const Profile*> Launches() const {
    std::vector<const Profile*> launches;
    for (const Profile& profile : profiles_) {
      if (profile.scope == Scope::kLaunch) launches.push_back(&profile);
    }
    return launches;
  }
  DeviceModel device_ = TypicalDevice();
  std::vector<cuda::KernelFacts> kernels_;
  std::vector<Profile> profiles_;
};

TEST_F(MeasuredModuleTest, EachLaunchOfARunIsASubject) {
  ProfiledReport report;
  report.metrics = {"dram__bytes_read.sum"};
  report.kernels = {{-1, "first", {10}}, {-1, "librarys", {20}}, {-1, "first", {30}}};
  report.timeline = {{.name = "first", .begin_us = 0, .end_us = 3, .grid = {8, 1, 1}, .block = {256, 1, 1}},
                     {.kind = EventKind::kMemset, .begin_us = 3, .end_us = 4},
                     {.name = "librarys", .begin_us = 5, .end_us = 9, .grid = {1, 1, 1}, .block = {32, 1, 1}},
                     {.name = "first", .begin_us = 9, .end_us = 11, .grid = {4, 2, 1}, .block = {64, 2, 1}}};
  AddMeasuredModule(profiles_, report, kernels_, nullptr, device_);
  const auto launches = Launches();
  ASSERT_EQ(launches.size(), 3u);  // and none of the kernel that never ran
  EXPECT_EQ(launches[0]->where, "launch 1");
  EXPECT_EQ(launches[2]->where, "launch 3");
  EXPECT_DOUBLE_EQ(launches[0]->Get("registers").value(), 32);
  EXPECT_DOUBLE_EQ(launches[0]->Get("blocks").value(), 8);
  EXPECT_DOUBLE_EQ(launches[0]->Get("block_threads").value(), 256);
  EXPECT_DOUBLE_EQ(launches[0]->Get("time_us").value(), 3);
  EXPECT_DOUBLE_EQ(launches[0]->Get("dram_read_bytes").value(), 10);
  EXPECT_DOUBLE_EQ(launches[2]->Get("blocks").value(), 8);
  EXPECT_DOUBLE_EQ(launches[2]->Get("block_threads").value(), 128);
  EXPECT_DOUBLE_EQ(launches[2]->Get("dram_read_bytes").value(), 30);
  EXPECT_FALSE(launches[1]->Get("registers"));  // a library's: its cubin is not ours
  EXPECT_DOUBLE_EQ(launches[1]->Get("dram_read_bytes").value(), 20);
  EXPECT_EQ(profiles_.back().scope, Scope::kPlan);
  EXPECT_DOUBLE_EQ(profiles_.back().Get("time_us").value(), 11);
  EXPECT_DOUBLE_EQ(profiles_.back().Get("gap_us").value(), 1);
}

TEST_F(MeasuredModuleTest, CountersOfOtherKernelsThanWereRecordedAreNobodys) {
  ProfiledReport report;
  report.metrics = {"dram__bytes_read.sum"};
  report.kernels = {{-1, "", {10}}, {-1, "", {20}}};
  report.timeline = {{.name = "first", .begin_us = 0, .end_us = 3, .grid = {8, 1, 1}, .block = {256, 1, 1}}};
  AddMeasuredModule(profiles_, report, kernels_, nullptr, device_);
  ASSERT_EQ(Launches().size(), 1u);
  EXPECT_FALSE(Launches()[0]->Get("dram_read_bytes"));
  EXPECT_EQ(Launches()[0]->where, "");
}

TEST_F(MeasuredModuleTest, WithoutAnythingMeasuredTheKernelsStay) {
  AddMeasuredModule(profiles_, {}, kernels_, nullptr, device_);
  EXPECT_EQ(Launches().size(), 2u);
}

}  // namespace
}  // namespace hone
