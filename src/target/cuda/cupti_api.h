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

struct Evaluate {
  std::size_t size = 72;
  void* unused = nullptr;
  void* host = nullptr;
  const std::uint8_t* data = nullptr;
  std::size_t bytes = 0, range = 0;
  const char** metrics = nullptr;
  std::size_t count = 0;
  double* values = nullptr;
};

// --- The device's side: counting. All that has a context is of the one that is current.
struct Initialize {
  std::size_t size = 16;
  void* unused = nullptr;
};
struct ChipName {
  std::size_t size = 32;
  void* unused = nullptr;
  std::size_t device = 0;
  const char* chip = nullptr;
};
struct Availability {
  std::size_t size = 40;
  void* unused = nullptr;
  void* context = nullptr;
  std::size_t bytes = 0;
  std::uint8_t* image = nullptr;
};
struct RangeEnable {
  std::size_t size = 32;
  void* unused = nullptr;
  void* context = nullptr;
  void* profiler = nullptr;  // what it makes
};
struct DataSize {
  std::size_t size = 64;
  void* unused = nullptr;
  void* profiler = nullptr;
  const char** metrics = nullptr;
  std::size_t count = 0, ranges = 0;
  std::uint32_t nodes = 0;
  std::size_t bytes = 0;
};
struct DataInitialize {
  std::size_t size = 40;
  void* unused = nullptr;
  void* profiler = nullptr;
  std::size_t bytes = 0;
  std::uint8_t* data = nullptr;
};
constexpr int kAutoRange = 1, kKernelReplay = 2, kUserReplay = 3;
struct SetConfig {
  std::size_t size = 90;
  void* unused = nullptr;
  void* profiler = nullptr;
  std::size_t config_bytes = 0;
  const std::uint8_t* config = nullptr;
  std::size_t data_bytes = 0;
  std::uint8_t* data = nullptr;
  int range = kAutoRange, replay = kKernelReplay;
  std::size_t ranges = 0;
  std::uint16_t levels = 1, least_level = 1;
  std::size_t pass = 0;
  std::uint16_t level = 1;
};
struct OfProfiler {  // of Start and Disable
  std::size_t size = 24;
  void* unused = nullptr;
  void* profiler = nullptr;
};
struct Stop {
  std::size_t size = 41;
  void* unused = nullptr;
  void* profiler = nullptr;
  std::size_t pass = 0, level = 0;
  std::uint8_t all_passes = 0;
};
struct Decode {
  std::size_t size = 32;
  void* unused = nullptr;
  void* profiler = nullptr;
  std::size_t dropped = 0;
};
struct DataInfo {
  std::size_t size = 40;
  void* unused = nullptr;
  const std::uint8_t* data = nullptr;
  std::size_t bytes = 0, ranges = 0;
};

// --- The device's side: when what ran. Records of all kinds that we ask for begin alike.
constexpr int kCopyRecord = 1, kMemsetRecord = 2, kKernelRecord = 10;
constexpr unsigned kFlushForced = 1;
struct Record {
  int kind;
  char head[12];
  std::uint64_t begin_ns, end_ns;
};
struct KernelRecord : Record {
  std::uint64_t completed_ns;
  std::uint32_t device, context, stream;
  std::int32_t grid[3], block[3];
  std::int32_t static_shared_bytes, dynamic_shared_bytes;
  std::uint32_t local_bytes[2], correlation;
  std::int64_t launch;
  const char* name;  // as the compiler mangles it; lives as long as the module
};
static_assert(offsetof(Record, begin_ns) == 16 && sizeof(KernelRecord) == 112);

// --- The device's side: where warps are. These structs have their whole size, or the size up to the last field, where
// they begin with one.
struct StallCount {
  std::uint32_t reason, samples;
};
struct SampledPc {
  std::size_t size = 64;
  std::uint64_t cubin = 0, offset = 0;
  std::uint32_t function_index = 0, unused = 0;
  char* function = nullptr;  // shared between records
  std::size_t stall_count = 0;
  StallCount* stalls = nullptr;  // ours, of as many as there are reasons
  std::uint32_t correlation = 0;
};
struct SampledPcs {
  std::size_t size = 80;
  std::size_t most = 0;  // that `pcs` has room for
  std::uint64_t samples = 0, dropped = 0;
  std::size_t count = 0, remaining = 0;
  std::uint64_t range = 0;
  SampledPc* pcs = nullptr;
  std::uint64_t of_others = 0;
  std::uint8_t overflow = 0;
};
static_assert(sizeof(SampledPc) == 64 && sizeof(SampledPcs) == 80);
constexpr int kSamplingPeriod = 1, kSamplingStalls = 2, kSamplingScratchBytes = 3, kSamplingDeviceBytes = 4,
              kSamplingMode = 5, kSamplingBuffer = 8;
constexpr std::uint64_t kSamplingOneByOne = 2;  // a mode: kernels run alone
struct SamplingAttribute {
  int attribute;
  int status = 0;
  std::uint64_t value = 0;         // a number, a count or an address
  const void* elements = nullptr;  // of a count
  std::uint64_t unused = 0;
};
static_assert(sizeof(SamplingAttribute) == 32);
struct SamplingConfig {
  std::size_t size = 40;
  void* unused = nullptr;
  void* context = nullptr;
  std::size_t count = 0;
  SamplingAttribute* attributes = nullptr;
};
struct OfSampledContext {  // of Enable and Disable
  std::size_t size = 24;
  void* unused = nullptr;
  void* context = nullptr;
};
struct StallReasonCount {
  std::size_t size = 32;
  void* unused = nullptr;
  void* context = nullptr;
  std::size_t* count = nullptr;
};
struct StallReasons {
  std::size_t size = 48;
  void* unused = nullptr;
  void* context = nullptr;
  std::size_t count = 0;
  std::uint32_t* indices = nullptr;
  char** names = nullptr;  // of kStallName bytes each
};
constexpr std::size_t kStallName = 128;
struct GetSamples {
  std::size_t size = 32;
  void* unused = nullptr;
  void* context = nullptr;
  SampledPcs* data = nullptr;
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
  int (*evaluate)(Evaluate* parameters);
  int (*initialize)(Initialize* parameters);
  int (*chip_name)(ChipName* parameters);
  int (*availability)(Availability* parameters);
  int (*range_enable)(RangeEnable* parameters);
  int (*range_disable)(OfProfiler* parameters);
  int (*data_size)(DataSize* parameters);
  int (*data_initialize)(DataInitialize* parameters);
  int (*set_config)(SetConfig* parameters);
  int (*start)(OfProfiler* parameters);
  int (*stop)(Stop* parameters);
  int (*decode)(Decode* parameters);
  int (*data_info)(DataInfo* parameters);
  int (*record_callbacks)(void (*wanted)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records),
                          void (*full)(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes,
                                       std::size_t valid));
  int (*record_enable)(int kind);
  int (*record_disable)(int kind);
  int (*record_flush)(unsigned flags);
  int (*next_record)(std::uint8_t* buffer, std::size_t valid, Record** record);
  int (*sampling_enable)(OfSampledContext* parameters);
  int (*sampling_disable)(OfSampledContext* parameters);
  int (*sampling_config)(SamplingConfig* parameters);
  int (*stall_reason_count)(StallReasonCount* parameters);
  int (*stall_reasons)(StallReasons* parameters);
  int (*get_samples)(GetSamples* parameters);
  std::string path;  // of the library
};

// Opened at the first call, once a process: at `path`, or where FindLibrary finds it. kNotFound, with the mend, where
// there is none or an older one.
Result<const Api*> TheApi(const std::string& path = {});

// kDevice: "CALL: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES", with the mend where that is known.
Result<void> Done(const Api& api, std::string_view call, int code);

}  // namespace hone::cuda::cupti

// Only in functions that return a Result and have an `api_`.
#define HONE_CUPTI(call, parameters) HONE_TRY(::hone::cuda::cupti::Done(*api_, #call, api_->call(&(parameters))))
