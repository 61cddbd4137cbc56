// What a target can do: facts and measured ceilings of one machine, kept per machine by `hone calibrate`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
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
  std::string id;               // hash of processor model, core count and vector width: the key of the calibration file
  std::string processor;
  int threads = 1;              // that we use: the cores of our affinity mask
  int vector_bytes = 32;        // widest vector that the host compiler uses with -march=native
  std::int64_t l1_bytes = 32 << 10, l2_bytes = 1 << 20, l3_bytes = 0;
  double fma_flops_f32 = 0;     // FLOP/s of all threads, fused multiply-add = 2
  double fma_flops_f64 = 0;
  double fork_join_us = 0;      // an empty parallel region
  std::vector<BandwidthPoint> bandwidth;  // by rising working set
  std::string measured_on;      // date

  // Linear in the logarithm of the working set between the points.
  double CopyBandwidth(std::int64_t working_set_bytes) const;
  double ReadBandwidth(std::int64_t working_set_bytes) const;
};

// Reads this machine's facts without measuring (calibration figures 0).
Machine DescribeMachine();
// Takes about ten seconds and all cores.
Result<Machine> Calibrate();
// The kept calibration of this machine; kNotFound when `hone calibrate` has not run here.
Result<Machine> LoadCalibration();
Result<void> SaveCalibration(const Machine& machine);
std::string CalibrationPath();

}  // namespace hone
