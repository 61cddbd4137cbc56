// The profiles of any candidate, by compiling it and not running it.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "candidate/candidate.h"
#include "graph/graph.h"
#include "profile/profile.h"
#include "target/cuda/built_plan.h"
#include "target/device_model.h"

namespace hone {

// Why there is nothing to look at: the candidate is at fault.
struct Unprofiled {
  std::string where;    // "line 3", "/steps/0"; may be empty
  std::string message;  // one line
  std::string log;      // the compiler's, whole
};

struct CandidateProfiles {
  std::vector<Profile> profiles;
  std::optional<cuda::BuiltPlan> plan = {};     // by which it runs on a device; nothing of a module
  std::vector<cuda::KernelFacts> kernels = {};  // of a module of CUDA C++, from its cubin
};

// `name` is what reports call it, `graph` null where its problem has none that we can define, `program` what compiles
// foreign source in a process of its own (CubinRequest). Fails when the world does: no compiler, no cache, no tool.
Result<std::variant<CandidateProfiles, Unprofiled>> ProfileCandidate(const Candidate& candidate,
                                                                     const std::string& name, const Problem& problem,
                                                                     const Graph* graph, const DeviceModel& device,
                                                                     const std::string& program);

}  // namespace hone
