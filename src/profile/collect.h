// All profiles of a candidate that can be had without running it.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "profile/profile.h"
#include "target/cuda/built_plan.h"
#include "target/device_model.h"

namespace hone {

// Of a compiled kernel whose launch is not known.
Profile ProfileOf(const cuda::KernelFacts& kernel, const DeviceModel& device);

// Of a plan, called `name`, and of each kernel that it launches on every run. Without a graph (its problem may have
// none that we can define) nothing is said of the problem's limits.
std::vector<Profile> ProfilesOf(const cuda::BuiltPlan& built, const std::string& name, const Problem& problem,
                                const Graph* graph, const DeviceModel& device);

}  // namespace hone
