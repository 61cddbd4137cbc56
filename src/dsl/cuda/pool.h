// Writes pools for CUDA. Threads side by side fold the columns of a window first, each its own neighbouring elements of
// every row that the window reaches, read as packs; a column serves several outputs down the axis before the innermost
// one, whose windows overlap. What the columns hold goes through shared memory, where every output of the row folds
// those of its window. So an element is read from memory about once, whatever the window's width.
#pragma once

#include "dsl/cuda/writer.h"
#include "dsl/family.h"

namespace hone::dsl {

void EmitPoolCuda(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out);
std::span<const Knob> PoolKnobsCuda();

}  // namespace hone::dsl
