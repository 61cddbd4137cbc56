// What a program need not make on every run.
#pragma once

#include <vector>

#include "dsl/kernel.h"

namespace hone::dsl {

// An attribute of a kernel of parameters alone: it is launched once, when the plan is prepared.
inline constexpr const char* kPrepared = "prepared";

// By kernel of a program: whether a CUDA device makes it once, when the plan is prepared, as packing is. Those are of
// parameters alone, or of nothing, or of what is made once itself; all that they make are intermediates; and that takes
// no more memory than what it is made of, but for tables.
std::vector<bool> MadeOnce(const KernelProgram& program);

// A program for a CUDA device whose kernels that are made once say so, and their buffers, too.
KernelProgram WithMadeOnce(KernelProgram program);

}  // namespace hone::dsl
