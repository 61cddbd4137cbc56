// CUPTI's functions for those who wrap them: the part of its C interface that we use, as its documentation of version
// 13 declares it. Opened at run time. Every call gives a CUptiResult, an int; 0 is success.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hone::cuda::cupti {

// Parameters are structs that begin with their size up to the last field, without what pads them behind it; a newer
// library takes an older size.

// --- The host's side: needs neither a device nor its driver.
constexpr int kRangeProfiler = 0;
struct HostInitialize {
  std::size_t size = 48;
  void* unused = nullptr;
  int profiler = kRangeProfiler;
  const char* chip = nullptr;
  const std::uint8_t* availability = nullptr;  // of the device's counters; null: all that the chip has
  void* host = nullptr;                        // what it makes
};
struct HostDeinitialize {
  std::size_t size = 24;
  void* unused = nullptr;
  void* host = nullptr;
};
struct MetricProperties {
  std::size_t size = 60;
  void* unused = nullptr;
  void* host = nullptr;
  const char* metric = nullptr;
  const char *description = nullptr, *hardware_unit = nullptr, *unit = nullptr;
  int type = 0;
};
struct AddMetrics {
  std::size_t size = 40;
  void* unused = nullptr;
  void* host = nullptr;
  const char** metrics = nullptr;
  std::size_t count = 0;
};
struct ConfigSize {
  std::size_t size = 32;
  void* unused = nullptr;
  void* host = nullptr;
  std::size_t bytes = 0;
};
struct GetConfig {
  std::size_t size = 40;
  void* unused = nullptr;
  void* host = nullptr;
  std::size_t bytes = 0;
  std::uint8_t* config = nullptr;
};
struct PassCount {
  std::size_t size = 40;
  void* unused = nullptr;
  std::size_t bytes = 0;
  const std::uint8_t* config = nullptr;
  std::size_t passes = 0;
};

struct Api {
  int (*get_version)(std::uint32_t* version);
  int (*result_string)(int result, const char** text);
  int (*host_initialize)(HostInitialize* parameters);
  int (*host_deinitialize)(HostDeinitialize* parameters);
  int (*metric_properties)(MetricProperties* parameters);
  int (*add_metrics)(AddMetrics* parameters);
  int (*config_size)(ConfigSize* parameters);
  int (*get_config)(GetConfig* parameters);
  int (*pass_count)(PassCount* parameters);
  std::string path;  // of the library
};

// Opened at the first call, once a process. kNotFound, with the mend, where there is none or an older one.
Result<const Api*> TheApi();

// kDevice: "CALL: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", with the mend where that is known.
Result<void> Done(const Api& api, std::string_view call, int code);

}  // namespace hone::cuda::cupti

// Only in functions that return a Result and have an `api_`.
#define HONE_CUPTI(call, parameters) HONE_TRY(::hone::cuda::cupti::Done(*api_, #call, api_->call(&(parameters))))
