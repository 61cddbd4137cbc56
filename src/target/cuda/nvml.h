// What a device says of its own state: clocks, what holds them down, energy. NVML comes with the driver and is opened
// at run time. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "target/energy_counter.h"

namespace hone::cuda {

// What may hold clocks down; bits of DeviceState::limits, as NVML has them.
inline constexpr std::uint64_t kPowerCap = 0x4;
// A slowdown by heat or by the power supply's alarm: what is timed meanwhile says nothing of a kernel.
inline constexpr std::uint64_t kSlowdown = 0x8 | 0x20 | 0x40 | 0x80;

struct DeviceState {
  unsigned sm_mhz = 0;
  std::uint64_t limits = 0;
  bool slowed() const { return (limits & kSlowdown) != 0; }
};
// "power cap", "heat": of the bits that are limits at all, in words.
std::vector<std::string_view> LimitsInWords(std::uint64_t limits);

class Nvml {
 public:
  // `uuid`: Device::uuid. kNotFound, in a line, without the library or for a device that it does not know.
  static Result<Nvml> Open(const std::string& uuid);
  Result<DeviceState> State() const;
  // Used since the driver was loaded. Rises in ticks, see EnergyTick.
  Result<std::uint64_t> Millijoules() const;

 private:
  explicit Nvml(void* device) : device_(device) {}
  void* device_;
};

// The device's count for whoever measures windows. `uuid` as for Nvml::Open.
Result<std::unique_ptr<EnergyCounter>> OpenEnergyCounter(const std::string& uuid);

// How often the energy counter moves, watched for about a second, and what the device uses at rest.
struct EnergyTick {
  double tick_ms = 0;  // median time between two movements
  double watts = 0;    // over the time that was watched
};
Result<EnergyTick> MeasureEnergyTick(const Nvml& nvml);

}  // namespace hone::cuda
