#include "target/cuda/nvml.h"

#include <gtest/gtest.h>

#include "target/cuda/driver.h"

namespace hone::cuda {
namespace {

TEST(NvmlTest, LimitsAreNamedAndIdlenessIsNone) {
  EXPECT_TRUE(LimitsInWords(0x1 | 0x2 | 0x100).empty());
  EXPECT_EQ(LimitsInWords(kPowerCap | 0x20), (std::vector<std::string_view>{"power cap", "heat"}));
  EXPECT_FALSE((DeviceState{.sm_mhz = 1980, .limits = kPowerCap}).slowed());
  EXPECT_TRUE((DeviceState{.sm_mhz = 900, .limits = 0x40}).slowed());
}

TEST(NvmlTest, ADeviceSaysItsClockAndWhatItHasUsed) {
  const auto devices = FindDevices();
  if (!devices) GTEST_SKIP() << devices.error().message;
  const auto nvml = Nvml::Open(devices->front().uuid);
  ASSERT_TRUE(nvml) << nvml.error().message;
  const auto state = nvml->State();
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_GT(state->sm_mhz, 100u);
  const auto tick = MeasureEnergyTick(*nvml);
  ASSERT_TRUE(tick) << tick.error().message;
  EXPECT_GT(tick->tick_ms, 0);
  EXPECT_GT(tick->watts, 10);
  EXPECT_FALSE(Nvml::Open("GPU-nothing"));
}

}  // namespace
}  // namespace hone::cuda
