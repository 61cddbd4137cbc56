// What a device is and what it reaches: one value, from calibration to the language's checker, the emitters, a plan,
// its build and the bound. A device is a processor with its threads, or a CUDA device. What is not here is stood in for
// by a shipped model (target/shipped_model.h). A plain value.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hone {

enum class DeviceKind : std::uint8_t { kCpu, kCuda };

// Bandwidth seen by all threads together when they stream through a working set of this size.
struct BandwidthPoint {
  std::int64_t working_set_bytes = 0;
  double copy_bytes_per_second = 0;  // bytes read plus bytes written
  double read_bytes_per_second = 0;
};

// What a device reaches at best. 0 and empty: not known.
struct Ceilings {
  enum class Source : std::uint8_t { kNone, kMeasured, kDatasheet } source = Source::kNone;
  double fma_flops_f32 = 0;  // FLOP/s of all threads, fused multiply-add = 2
  double fma_flops_f64 = 0;
  std::map<std::string, double> matmul_flops;  // FLOP/s of large products, by the type they are made in
  double fork_join_us = 0;                     // an empty parallel region of all threads; a launch in a CUDA graph
  std::vector<BandwidthPoint> bandwidth;       // by rising working set
  // Of a CUDA device.
  double vector_flops_f32 = 0;                // FLOP/s without tensor cores
  double stream_launch_us = 0;                // of a kernel that does nothing, in a stream
  double energy_tick_ms = 0, idle_watts = 0;  // how often the energy counter moves; at rest
  std::string measured_on;                    // date, "2025-01-31"
  std::string compiler;                       // "g++ 12.2.0"

  // Linear in the logarithm of the working set between the points, level beyond them; 0 without points.
  double CopyBandwidth(std::int64_t working_set_bytes) const;
  double ReadBandwidth(std::int64_t working_set_bytes) const;
};

// What one multiprocessor and one block of a CUDA device can have. Those of sm_80, which later ones reach or exceed.
struct MultiprocessorLimits {
  int warps = 64, blocks = 32, registers = 64 << 10;  // of a multiprocessor
  int shared_bytes = 164 << 10;                       // of a multiprocessor
  int block_shared_bytes = 163 << 10;                 // of a block, static and dynamic together
  int reserved_shared_bytes = 1 << 10;                // that the system takes for each block
  int block_threads = 1024;
  int cluster_blocks = 1;  // that every device of the generation can place; 1 = no clusters
};

// What kernels may use beside what sm_80 has.
struct Instructions {
  bool tensor_maps = false;   // the bulk copy engine (TMA) with its barriers
  bool wgmma = false;         // products of warpgroups, and registers handed from one to another
  bool early_launch = false;  // a kernel begins while the one before it ends, and waits for that (griddepcontrol)
};

// Libraries found where programs are going to run.
struct FoundLibraries {
  bool onednn = false;                    // libdnnl.so.2, for modules (target/cpu/host_libraries.h)
  bool cublas_lt = false, cudnn = false;  // for plans
};

struct DeviceModel {
  DeviceKind kind = DeviceKind::kCpu;
  std::string id;         // the key of the calibration file: a hash of what the device is; a shipped model's key
  std::string processor;  // "AMD EPYC 9654 96-Core Processor", "NVIDIA H200"
  // Of a processor.
  int threads = 1;  // that we use: the physical cores of our affinity mask, no more than the control group's quota
  int vector_bytes = 16;    // widest vector of the processor that a compiler knows how to use
  bool bf16_pairs = false;  // it multiplies pairs of bf16 into sums of f32 (AVX512_BF16)
  // Caches: of a processor's core, of a CUDA device's multiprocessor and of all of it.
  std::int64_t l1_bytes = 32 << 10, l2_bytes = 1 << 20;
  std::int64_t l3_bytes = 0;  // of all cores of the mask together; 0 = none
  FoundLibraries libraries = {};
  // Of a CUDA device.
  std::string arch = {};  // what sources are compiled for: "sm_90a"
  int multiprocessors = 0;
  int clock_mhz = 0;  // at most
  std::int64_t memory_bytes = 0;
  MultiprocessorLimits limits = {};
  Instructions has = {};

  Ceilings ceilings = {};
};

// What kernels that need these instructions lack there: "NVIDIA A100-SXM4-80GB (sm_80) has no wgmma"; nothing: it fits.
std::optional<std::string> Lacks(const DeviceModel& device, const Instructions& needed);

// "2 threads", "132 multiprocessors".
std::string WidthOf(const DeviceModel& device);

// Reads this machine's processor without measuring. Once per process: a changed affinity mask is not noticed.
const DeviceModel& DescribeMachine();

// One logical processor of each physical core in our affinity mask, ascending: where threads that want a core each
// belong.
std::vector<int> UsableProcessors();

enum class Effort {
  kFull,  // about ten seconds
  kFast,  // under a second, few points and rough figures: for tests
};

// Measures the processor on all threads. Everything else on the machine should be idle meanwhile; short disturbances
// are ridden out. The memory bandwidth of small working sets is that of the caches. `progress` is called with what is
// measured next, from this thread. Fails with kNotFound without a compiler.
Result<DeviceModel> Calibrate(Effort effort = Effort::kFull,
                              const std::function<void(std::string_view)>& progress = {});

// `described` with the ceilings that were measured on it and kept; kNotFound when `hone calibrate` has not run here,
// kCorrupt when the file is not ours.
Result<DeviceModel> LoadCalibration(const DeviceModel& described = DescribeMachine());  // described: its id counts
Result<void> SaveCalibration(const DeviceModel& device);
std::string CalibrationPath(const DeviceModel& described = DescribeMachine());  // machines/ID.json in DataDirectory()

// One JSON document: what a calibration file holds, the facts that matter to a reader and all ceilings by the names
// above.
std::string ToJson(const DeviceModel& device);
Result<Ceilings> ParseCeilings(std::string_view json);  // of such a document; kCorrupt

}  // namespace hone
