// What a target can do: facts and measured ceilings of one machine, kept per machine by `hone calibrate`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hone {

// Bandwidth seen by all threads together when they stream through a working set of this size.
struct BandwidthPoint {
  std::int64_t working_set_bytes = 0;
  double copy_bytes_per_second = 0;  // bytes read plus bytes written
  double read_bytes_per_second = 0;
};

struct Machine {
  std::string id;         // hash of processor model, core count and vector width: the key of the calibration file
  std::string processor;  // "AMD EPYC 9654 96-Core Processor", "NVIDIA H200"
  bool cuda = false;      // a CUDA device: `threads` are its multiprocessors, l2_bytes is shared by all of them
  int threads = 1;  // that we use: the physical cores of our affinity mask, no more than the control group's quota
  int vector_bytes = 16;  // widest vector of the processor that a compiler knows how to use
  std::int64_t l1_bytes = 32 << 10, l2_bytes = 1 << 20;  // of one core
  std::int64_t l3_bytes = 0;                             // of all cores of the mask together; 0 = none
  // From here on measured; 0 and empty before.
  double fma_flops_f32 = 0;  // FLOP/s of all threads, fused multiply-add = 2
  double fma_flops_f64 = 0;
  double fork_join_us = 0;                // an empty parallel region of all threads
  std::vector<BandwidthPoint> bandwidth;  // by rising working set
  // Of a CUDA device; empty and 0 where they could not be measured.
  std::map<std::string, double> matmul_flops;  // FLOP/s of cuBLASLt's large products, by the type they are made in
  double vector_flops_f32 = 0;                 // FLOP/s without tensor cores
  double stream_launch_us = 0;                 // of a kernel that does nothing, in a stream
  double energy_tick_ms = 0, idle_watts = 0;   // how often the energy counter moves; at rest
  std::string measured_on;                     // date, "2025-01-31"
  std::string compiler;                        // "g++ 12.2.0"

  // Linear in the logarithm of the working set between the points, level beyond them; 0 without points.
  double CopyBandwidth(std::int64_t working_set_bytes) const;
  double ReadBandwidth(std::int64_t working_set_bytes) const;
};

// Reads this machine's facts without measuring. Once per process: a changed affinity mask is not noticed.
const Machine& DescribeMachine();

// One logical processor of each physical core in our affinity mask, ascending: where threads that want a core each
// belong.
std::vector<int> UsableProcessors();

enum class Effort {
  kFull,  // about ten seconds
  kFast,  // under a second, few points and rough figures: for tests
};

// Measures on all threads. Everything else on the machine should be idle meanwhile; short disturbances are ridden out.
// The memory bandwidth of small working sets is that of the caches. `progress` is called with what is measured next,
// from this thread. Fails with kNotFound without a compiler.
Result<Machine> Calibrate(Effort effort = Effort::kFull, const std::function<void(std::string_view)>& progress = {});

// The kept calibration of this machine; kNotFound when `hone calibrate` has not run here, kCorrupt when the file is not
// ours.
Result<Machine> LoadCalibration(const Machine& described = DescribeMachine());  // described: its id counts
Result<void> SaveCalibration(const Machine& machine);
std::string CalibrationPath(const Machine& described = DescribeMachine());  // machines/ID.json in DataDirectory()

// One JSON document with the fields above by their names.
std::string ToJson(const Machine& machine);
Result<Machine> ParseMachine(std::string_view json);  // kCorrupt

}  // namespace hone
