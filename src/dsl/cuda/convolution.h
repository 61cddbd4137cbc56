// Convolutions on CUDA, by cuDNN: a bias with ReLU may be the library's, another end is a kernel that follows.
#pragma once

#include <span>

#include "dsl/cuda/writer.h"
#include "dsl/family.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// Whether the library can: both operands lie in memory as it reads them, and the extents are those that it computes.
bool LibraryConvolves(const Kernel& kernel);

// Whether the library makes the end, too.
bool EndsInLibrary(const Kernel& kernel);

void EmitConvolutionCuda(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out);
std::span<const Knob> ConvolutionKnobsCuda();

}  // namespace hone::dsl
