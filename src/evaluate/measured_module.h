// What a module of CUDA C++ launched while it was profiled, as profiles: nobody knows that before.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "profile/profile.h"
#include "protocol/profiled.h"
#include "target/cuda/cubin.h"
#include "target/device_model.h"

namespace hone {

// In place of the module's kernels, which `profiles` has from its cubin, one profile a launch of a run: how it was
// launched, what was counted, how long it took, and of those of the module's own `kernels` what the cubin says. `graph`
// may be null.
void AddMeasuredModule(std::vector<Profile>& profiles, const ProfiledReport& report,
                       const std::vector<cuda::KernelFacts>& kernels, const Graph* graph, const DeviceModel& device);

}  // namespace hone
