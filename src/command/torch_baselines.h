// The baselines that PyTorch runs: the file that a problem was imported from, in the ways that PyTorch has, and modules
// that the user brings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "judge/outside_baseline.h"
#include "problem/problem.h"
#include "target/device_model.h"

namespace hone {

struct TorchBaselinesOptions {
  std::string python;              // interpreter with PyTorch; empty = FindPython()
  bool of_problem = true;          // those of the problem's own file
  std::vector<std::string> asked;  // names and FILE.py[:CLASS]
  bool cuda = false;
};

struct TorchBaselines {
  std::vector<OutsideBaseline> outside;
  std::vector<std::string> usual;  // names of those that are timed if nobody says which
  std::vector<std::string> asked;  // as in the options, by the names of their baselines
  std::string kept, about;         // EvaluatorOptions::kept_baselines and kept_about
  std::string why_not = {};        // the problem's own are missing, of a problem that came from PyTorch
};

// Fails with kUsage where a module that is asked for cannot be had: there is no such file, or no PyTorch.
Result<TorchBaselines> FindTorchBaselines(const Problem& problem, const DeviceModel& machine,
                                          const TorchBaselinesOptions& options);

// A module in a file: "kernels/moe.py", "moe.py:ModelNew".
struct OwnModule {
  std::string file, module_class;  // the class may be empty: the one that is there
};
std::optional<OwnModule> ParseOwnModule(std::string_view asked);  // nothing: it is a name

}  // namespace hone
