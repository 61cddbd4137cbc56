// What a kernel program should take on a machine: for each kernel the larger of its bytes over the bandwidth at its
// working set and its arithmetic over the peak, plus the cost of starting the threads. It ranks choices; it does not
// promise.
#pragma once

#include <vector>

#include "dsl/kernel.h"
#include "target/device_model.h"

namespace hone::expert {

std::vector<double> PredictKernels(const dsl::KernelProgram& program, const DeviceModel& machine);  // microseconds each
double Predict(const dsl::KernelProgram& program, const DeviceModel& machine);                      // their sum

}  // namespace hone::expert
