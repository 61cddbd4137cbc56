// The kernels in a shared object that nvcc made with --no-compress: its section .nv_fatbin holds containers, and each
// of them cubins and PTX one behind the other. NVIDIA does not describe them; this is what nvcc 13 writes.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "target/cuda/cubin.h"

namespace hone::cuda {

// Of all its cubins, in their order; empty where it has none. kCorrupt when it is no shared object, or a container or a
// cubin in it is cut off or compressed.
Result<std::vector<KernelFacts>> ReadKernelsOfLibrary(std::string_view library);

}  // namespace hone::cuda
