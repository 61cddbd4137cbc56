#include "target/cuda/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "target/cuda/shared_library.h"

namespace hone::cuda {
namespace {

using Clock = std::chrono::steady_clock;

// The part of NVML's C interface that we use, as its documentation declares it: every call gives a status, 0 is
// success.
struct Api {
  int (*init)();
  const char* (*error_string)(int status);
  int (*handle_by_uuid)(const char* uuid, void** device);
  int (*clock)(void* device, int kind, unsigned* mhz);
  int (*limits)(void* device, unsigned long long* bits);
  int (*energy)(void* device, unsigned long long* millijoules);
};
constexpr int kSmClock = 1;

Result<Api> OpenApi() {
  const std::string name = "libnvidia-ml.so.1";
  const auto library = HONE_TRY(SharedLibrary::Open({&name, 1}));
  Api api{};
  // CUDA 12.5 renamed the reasons; older drivers have the old name alone, newer ones both.
  const bool limits = library.Load("nvmlDeviceGetCurrentClocksEventReasons", api.limits) ||
                      library.Load("nvmlDeviceGetCurrentClocksThrottleReasons", api.limits);
  if (!limits || !library.Load("nvmlInit_v2", api.init) || !library.Load("nvmlErrorString", api.error_string) ||
      !library.Load("nvmlDeviceGetHandleByUUID", api.handle_by_uuid) ||
      !library.Load("nvmlDeviceGetClockInfo", api.clock) ||
      !library.Load("nvmlDeviceGetTotalEnergyConsumption", api.energy))
    return Fail(ErrorKind::kNotFound, fmt::format("{} is older than we need", library.path()));
  if (const int status = api.init(); status != 0)
    return Fail(ErrorKind::kNotFound, fmt::format("nvmlInit_v2: {}", api.error_string(status)));
  return api;
}

Result<const Api*> TheApi() {
  static const Result<Api> api = OpenApi();
  if (!api) return tl::unexpected<Error>(api.error());
  return &*api;
}

Result<void> Done(const Api& api, const char* call, int status) {
  if (status == 0) return {};
  return Fail(ErrorKind::kDevice, fmt::format("{}: {}", call, api.error_string(status)));
}

}  // namespace

std::vector<std::string_view> LimitsInWords(std::uint64_t limits) {
  // Idle (0x1) is no limit, nor is a clock that somebody has set (0x2, 0x10, 0x100): that is how the device is.
  constexpr struct {
    std::uint64_t bit;
    std::string_view words;
  } kWords[] = {{kPowerCap, "power cap"},
                {0x8, "hardware slowdown"},
                {0x20, "heat"},
                {0x40, "heat, by the hardware"},
                {0x80, "power brake"}};
  std::vector<std::string_view> words;
  for (const auto& one : kWords) {
    if (limits & one.bit) words.push_back(one.words);
  }
  return words;
}

Result<Nvml> Nvml::Open(const std::string& uuid) {
  const Api& api = *HONE_TRY(TheApi());
  void* device = nullptr;
  if (const int status = api.handle_by_uuid(uuid.c_str(), &device); status != 0)
    return Fail(ErrorKind::kNotFound, fmt::format("NVML, device {}: {}", uuid, api.error_string(status)));
  return Nvml(device);
}

Result<DeviceState> Nvml::State() const {
  const Api& api = *HONE_TRY(TheApi());
  DeviceState state;
  unsigned long long limits = 0;
  HONE_TRY(Done(api, "nvmlDeviceGetClockInfo", api.clock(device_, kSmClock, &state.sm_mhz)));
  HONE_TRY(Done(api, "nvmlDeviceGetCurrentClocksEventReasons", api.limits(device_, &limits)));
  state.limits = limits;
  return state;
}

Result<std::uint64_t> Nvml::Millijoules() const {
  const Api& api = *HONE_TRY(TheApi());
  unsigned long long millijoules = 0;
  HONE_TRY(Done(api, "nvmlDeviceGetTotalEnergyConsumption", api.energy(device_, &millijoules)));
  return static_cast<std::uint64_t>(millijoules);
}

namespace {

class NvmlEnergy final : public EnergyCounter {
 public:
  explicit NvmlEnergy(Nvml nvml) : nvml_(nvml) {}

  Result<double> Joules() override { return static_cast<double>(HONE_TRY(nvml_.Millijoules())) / 1e3; }
  // Yang et al., "Part-time Power Measurements", SC24 (arXiv:2312.02741), for the quarter.
  std::string sensor() const override {
    return "NVML's energy count, of all of the board; on A100 and H100 its power sensor looks during a quarter of the "
           "time, so what alternates faster than a tick may be off by several percent";
  }

 private:
  Nvml nvml_;
};

}  // namespace

Result<std::unique_ptr<EnergyCounter>> OpenEnergyCounter(const std::string& uuid) {
  auto counter = std::make_unique<NvmlEnergy>(HONE_TRY(Nvml::Open(uuid)));
  HONE_TRY(counter->Joules());  // there are devices without
  return counter;
}

Result<EnergyTick> MeasureEnergyTick(const Nvml& nvml) {
  constexpr std::size_t kTicks = 8;
  constexpr auto kWall = std::chrono::milliseconds(1500);
  const auto begin = Clock::now();
  std::uint64_t last = HONE_TRY(nvml.Millijoules()), first = 0;
  std::vector<Clock::time_point> moved;
  while (moved.size() <= kTicks && Clock::now() - begin < kWall) {
    const auto now = HONE_TRY(nvml.Millijoules());
    if (now != last) {
      moved.push_back(Clock::now());
      if (moved.size() == 1) first = now;
      last = now;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EnergyTick tick;
  if (moved.size() < 3) return tick;
  std::vector<double> between;
  for (std::size_t i = 1; i < moved.size(); ++i)
    between.push_back(std::chrono::duration<double, std::milli>(moved[i] - moved[i - 1]).count());
  const double watched_ms = std::chrono::duration<double, std::milli>(moved.back() - moved.front()).count();
  tick.watts = static_cast<double>(last - first) / watched_ms;
  std::nth_element(between.begin(), between.begin() + static_cast<std::ptrdiff_t>(between.size() / 2), between.end());
  tick.tick_ms = between[between.size() / 2];
  return tick;
}

}  // namespace hone::cuda
