// Matrix products by cuBLASLt, with bias, residual and ReLU as the library's epilogue; another end is a kernel that
// follows.
#pragma once

#include "dsl/cuda/writer.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// Whether the library can read both operands where they lie: as matrices, in one batch dimension at most.
bool LibraryMultiplies(const Kernel& kernel);
// `tf32`: products of f32 are made in TF32.
void EmitMatmulLibrary(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out, bool tf32);

}  // namespace hone::dsl
