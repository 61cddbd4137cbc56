#include "target/device_model.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/files.h"
#include "target/cpu/compiler.h"

namespace hone {
namespace {

DeviceModel Sample() {
  auto machine = DescribeMachine();
  machine.ceilings.fma_flops_f32 = 1.5e11;
  machine.ceilings.fma_flops_f64 = 7.5e10;
  machine.ceilings.fork_join_us = 1.25;
  machine.ceilings.bandwidth = {{1 << 10, 4e11, 8e11}, {1 << 12, 2e11, 4e11}, {1 << 20, 1e10, 2e10}};
  machine.ceilings.measured_on = "2025-01-31";
  machine.ceilings.compiler = "g++ 12.2.0";
  return machine;
}

TEST(MachineTest, BandwidthIsLinearInTheLogarithmOfTheWorkingSet) {
  const auto machine = Sample();
  EXPECT_DOUBLE_EQ(machine.ceilings.CopyBandwidth(1 << 10), 4e11);
  EXPECT_DOUBLE_EQ(machine.ceilings.CopyBandwidth(1 << 11), 3e11);
  EXPECT_DOUBLE_EQ(machine.ceilings.CopyBandwidth(1 << 12), 2e11);
  EXPECT_DOUBLE_EQ(machine.ceilings.ReadBandwidth(1 << 16), 2.1e11);
}

TEST(MachineTest, BandwidthIsLevelBeyondThePoints) {
  const auto machine = Sample();
  EXPECT_DOUBLE_EQ(machine.ceilings.CopyBandwidth(1), 4e11);
  EXPECT_DOUBLE_EQ(machine.ceilings.CopyBandwidth(0), 4e11);
  EXPECT_DOUBLE_EQ(machine.ceilings.ReadBandwidth(std::int64_t{1} << 40), 2e10);
}

TEST(MachineTest, BandwidthOfAnUnmeasuredMachineIsZero) {
  EXPECT_EQ(DescribeMachine().ceilings.CopyBandwidth(1 << 20), 0);
}

TEST(MachineTest, DescriptionIsOfThisMachine) {
  const auto& machine = DescribeMachine();
  EXPECT_EQ(machine.id.size(), 16u);
  EXPECT_FALSE(machine.processor.empty());
  EXPECT_GE(machine.threads, 1);
  EXPECT_LE(machine.threads, static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_TRUE(machine.vector_bytes == 16 || machine.vector_bytes == 32 || machine.vector_bytes == 64);
  EXPECT_GE(machine.l1_bytes, 8 << 10);
  EXPECT_GT(machine.l2_bytes, machine.l1_bytes);
  EXPECT_EQ(machine.ceilings.fma_flops_f32, 0);
}

TEST(MachineTest, JsonKeepsEveryField) {
  const auto machine = Sample();
  auto back = machine;
  back.ceilings = ParseCeilings(ToJson(machine)).value();
  EXPECT_EQ(ToJson(back), ToJson(machine));
  EXPECT_EQ(back.ceilings.source, Ceilings::Source::kMeasured);
  ASSERT_EQ(back.ceilings.bandwidth.size(), 3u);
  EXPECT_EQ(back.ceilings.bandwidth[2].working_set_bytes, 1 << 20);
  EXPECT_EQ(back.ceilings.bandwidth[2].read_bytes_per_second, 2e10);
}

TEST(MachineTest, DamagedJsonIsRefused) {
  auto later = ToJson(Sample());
  later.replace(later.find("\"schema\": 1"), 11, "\"schema\": 9");
  auto falling = Sample();
  std::swap(falling.ceilings.bandwidth[0], falling.ceilings.bandwidth[2]);
  for (const auto& text : {std::string(), std::string("[]"), std::string("{\"schema\": 1}"), later, ToJson(falling)}) {
    const auto machine = ParseCeilings(text);
    ASSERT_FALSE(machine.has_value()) << text;
    EXPECT_EQ(machine.error().kind, ErrorKind::kCorrupt);
  }
}

class CalibrationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = TempDirectory::Create("calibration-test");
    ASSERT_TRUE(folder.has_value());
    folder_.emplace(*std::move(folder));
    setenv("HONE_DATA", (folder_->path() + "/data").c_str(), 1);
    setenv("HONE_CACHE", (folder_->path() + "/cache").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("HONE_DATA");
    unsetenv("HONE_CACHE");
  }
  std::optional<TempDirectory> folder_;
};

TEST_F(CalibrationTest, NoneIsSaidWithTheMend) {
  const auto machine = LoadCalibration();
  ASSERT_FALSE(machine.has_value());
  EXPECT_EQ(machine.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(machine.error().message.find("hone calibrate"), std::string::npos);
}

TEST_F(CalibrationTest, KeptOneIsLoaded) {
  ASSERT_TRUE(SaveCalibration(Sample()).has_value());
  const auto machine = LoadCalibration();
  ASSERT_TRUE(machine.has_value()) << machine.error().message;
  EXPECT_EQ(machine->ceilings.fork_join_us, 1.25);
}

TEST_F(CalibrationTest, DamagedFileIsNamed) {
  ASSERT_TRUE(SaveCalibration(Sample()).has_value());
  std::ofstream(CalibrationPath()) << "{";
  const auto machine = LoadCalibration();
  ASSERT_FALSE(machine.has_value());
  EXPECT_EQ(machine.error().kind, ErrorKind::kCorrupt);
  EXPECT_TRUE(machine.error().message.starts_with(CalibrationPath()));
}

TEST_F(CalibrationTest, FastMeasurementIsPlausible) {
  if (const auto version = HostCompilerVersion(); !version) GTEST_SKIP() << version.error().message;
  int steps = 0;
  auto machine = Calibrate(Effort::kFast, [&](std::string_view) { ++steps; });
  ASSERT_TRUE(machine.has_value()) << machine.error().message;
  // On a busy machine a quick measurement may be of the others' load; a second look is fair, a law that never holds is
  // not.
  const auto orderly = [&] {
    return machine->ceilings.fma_flops_f32 > machine->ceilings.fma_flops_f64 * 1.2 &&
           machine->ceilings.bandwidth.front().read_bytes_per_second >
               machine->ceilings.bandwidth.back().read_bytes_per_second / 4;
  };
  for (int i = 0; i < 10 && machine && !orderly(); ++i) machine = Calibrate(Effort::kFast);
  ASSERT_TRUE(machine.has_value());
  EXPECT_TRUE(orderly()) << ToJson(*machine);
  EXPECT_GT(steps, 0);
  // Bounds that any machine keeps: at most 10 GHz, four ports and 64 bytes; at least a hundredth of a slow core.
  const double most = 10e9 * machine->threads;
  EXPECT_GT(machine->ceilings.fma_flops_f32, 1e8);
  EXPECT_LT(machine->ceilings.fma_flops_f32, most * 4 * 16 * 2);
  EXPECT_GT(machine->ceilings.fma_flops_f64, 5e7);
  EXPECT_GT(machine->ceilings.fork_join_us, 0);
  EXPECT_LT(machine->ceilings.fork_join_us, 1e5);
  ASSERT_GE(machine->ceilings.bandwidth.size(), 5u);
  for (const auto& point : machine->ceilings.bandwidth) {
    EXPECT_GT(point.copy_bytes_per_second, 1e7) << point.working_set_bytes;
    EXPECT_LT(point.copy_bytes_per_second, most * 4 * 64) << point.working_set_bytes;
    EXPECT_GT(point.read_bytes_per_second, 1e7) << point.working_set_bytes;
  }
}

}  // namespace
}  // namespace hone
