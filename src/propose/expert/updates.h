// Outputs that are written into inputs, as a cache is: who reads the input comes before that.
#pragma once

#include "dsl/program.h"
#include "target/device_model.h"

namespace hone::expert {

// Puts what reads such an input before the statement that writes into it. Where that cannot be, or the statement reads
// other places of it than it writes, that makes a value of its own, which is put there in the end.
dsl::Program OrderUpdates(dsl::Program program, const DeviceModel& device);

}  // namespace hone::expert
