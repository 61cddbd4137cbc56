// What a program need not make on every run.
#pragma once

#include "dsl/kernel.h"

namespace hone::dsl {

// Whether a map on a CUDA device is nothing but a parameter in fewer bits, for what reads it: weights that a product
// has rounded. It is made when the plan is prepared, as packing is.
bool IsMadeOnce(const KernelProgram& program, const Kernel& kernel);

}  // namespace hone::dsl
