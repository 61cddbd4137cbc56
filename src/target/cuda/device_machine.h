// A CUDA device as a Machine: what it is, and its ceilings as plans of our own measure them on it.
#pragma once

#include "base/result.h"
#include "target/machine.h"

namespace hone::cuda {

// A device's facts, without making a context and without ceilings. kNotFound says in a line what is missing.
Result<Machine> DescribeDevice(int ordinal = 0);

// What is written for when no device is here: an H100 or H200, without ceilings.
Machine TypicalDevice();

// Measures a device, in this process: copy and read bandwidth by working set, multiply-adds in single and
// double precision, and the time that a launch in a graph takes at least (fork_join_us). A few seconds; nothing else
// should run there meanwhile.
//
// fma_flops_f32 is what single precision can be had for: the ordinary units', cuBLASLt's, or a third of the tensor
// cores' rate in half precision if that is more, since three products of halves make one in single precision.
// fma_flops_f64 is the faster of the ordinary units and cuBLASLt, which has tensor cores for it. Without the library
// its rates are left out; so is energy without NVML.
Result<Machine> CalibrateDevice(int ordinal = 0);

}  // namespace hone::cuda
