// What a compiled kernel says of itself, and what follows from how it is launched, as facts: no GPU needed.
#pragma once

#include "candidate/plan.h"
#include "profile/profile.h"
#include "target/cuda/cubin.h"
#include "target/device_model.h"

namespace hone {

// Instructions, widths, spills, loops. After the device's own facts.
void AddCubinFacts(Profile& profile, const cuda::KernelFacts& kernel, const DeviceModel& device);

// Waves, tail, occupancy and what limits it.
void AddLaunchFacts(Profile& profile, const cuda::KernelFacts& kernel, const LaunchStep& launch,
                    const DeviceModel& device);

}  // namespace hone
