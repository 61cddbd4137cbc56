// The module of the kernels that a worker on a device runs itself (device_code/worker.cu). The judge compiles it, for
// WorkerSetup::kernels: no worker has a compiler.
#pragma once

#include <string>

#include "base/result.h"

namespace hone {

// For a device of this architecture, "sm_90a"; no device is needed to make it.
Result<std::string> CompileWorkerKernels(const std::string& arch);

}  // namespace hone
