// A machine as the kernel language's checker sees it. One place, so that what is proposed, evaluated and exported has
// the same settings filled in.
#pragma once

#include "dsl/kernel.h"
#include "target/cuda/toolkit.h"
#include "target/machine.h"

namespace hone {

inline dsl::Limits LimitsOf(const Machine& machine) {
  return {machine.threads,
          machine.vector_bytes,
          machine.l1_bytes,
          machine.l2_bytes,
          machine.l3_bytes,
          false,
          machine.cuda ? dsl::Device::kCuda : dsl::Device::kCpu,
          machine.cuda && cuda::FindLibrary(cuda::Library::kCublasLt).has_value(),
          machine.cuda && cuda::FindLibrary(cuda::Library::kCudnn).has_value()};
}

}  // namespace hone
