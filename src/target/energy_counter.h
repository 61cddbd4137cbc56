// A device's own count of the energy that it has used. cuda/nvml.h opens that of a CUDA device, cpu/rapl.h the
// processors'; tests have one that counts what they say.
#pragma once

#include <string>

#include "base/result.h"

namespace hone {

// Not thread-safe: one reader at a time.
class EnergyCounter {
 public:
  virtual ~EnergyCounter() = default;
  // Joules since some moment of the past. Rises in ticks; never falls, unless the driver was loaded anew meanwhile.
  virtual Result<double> Joules() = 0;
  // What it is, what is in its count and how far that can be believed: said with each figure.
  virtual std::string sensor() const = 0;
};

}  // namespace hone
