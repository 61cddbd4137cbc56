// Where PyTorch's time goes for a model that is nobody's candidate: kernel by kernel, beside the bound.
#pragma once

#include <atomic>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "problem/problem.h"
#include "target/device_model.h"

namespace hone {

struct TorchKernel {
  std::string name;
  double us = 0, calls = 0;  // of a run
};
struct TorchProfile {
  std::string mode;                  // "eager", "compile"
  std::string wrong;                 // why there is nothing of it; empty: there is
  double span_us = 0;                // of a run, with what lies between kernels
  std::vector<TorchKernel> kernels;  // what takes longest first; on the processor operators by their own time
  double busy_us() const;
};

// Of the file that the problem was imported from, in a process of its own that is held as baselines are. kNotFound
// where there is no such file or no PyTorch.
Result<std::vector<TorchProfile>> ProfileTorch(const Problem& problem, const DeviceModel& machine, bool cuda,
                                               const std::atomic<bool>* interrupt);

nlohmann::json ToJson(const std::vector<TorchProfile>& profiles);
std::string Describe(const std::vector<TorchProfile>& profiles, double bound_us);  // bound_us 0: not known

}  // namespace hone
