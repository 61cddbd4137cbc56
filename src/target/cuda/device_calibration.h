// A CUDA device that is here as a DeviceModel: what it is, and its ceilings as plans of our own measure them on it.
#pragma once

#include <string>

#include "base/result.h"
#include "target/device_model.h"

namespace hone::cuda {

// NVIDIA's libraries that are found on this machine: they are looked for once a process.
FoundLibraries FindLibraries();

// A device's facts, without making a context and without ceilings. kNotFound says in a line what is missing.
Result<DeviceModel> DescribeDevice(int ordinal = 0);

// What a plan is compiled and checked for where it may run: the device with this UUID, empty for the first; where no
// device is here, the typical one. Without ceilings and libraries.
DeviceModel ModelToBuildFor(const std::string& uuid);

// Measures a device, in this process: copy and read bandwidth by working set, multiply-adds in single and
// double precision, and the time that a launch in a graph takes at least (fork_join_us). A few seconds; nothing else
// should run there meanwhile.
//
// fma_flops_f32 is what single precision can be had for: the ordinary units', cuBLASLt's, or a third of the tensor
// cores' rate in half precision if that is more (SinglePrecisionCeiling). fma_flops_f64 is the faster of the ordinary
// units and cuBLASLt, which has tensor cores for it. Without the library its rates are left out; so is energy without
// NVML.
Result<DeviceModel> CalibrateDevice(int ordinal = 0);

}  // namespace hone::cuda
