// Writes nests for CUDA: a thread an element of the result; of a sequence, a thread all that depends on itself, with
// the steps in a loop.
#pragma once

#include "dsl/cuda/writer.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// The kernel, or the whole sequence that it begins.
void EmitNestCuda(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out);

}  // namespace hone::dsl
