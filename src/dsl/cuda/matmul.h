// Matrix products on CUDA: what can be set, and which of the ways of matmul_tensor.h and matmul_simt.h is gone.
#pragma once

#include <span>
#include <string_view>

#include "dsl/cuda/writer.h"
#include "dsl/family.h"

namespace hone::dsl {

void EmitMatmulCuda(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out);
std::span<const Knob> MatmulKnobsCuda();

}  // namespace hone::dsl
