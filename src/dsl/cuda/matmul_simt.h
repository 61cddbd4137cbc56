// Matrix products without tensor cores: any shape, strides and expressions, in f32 or f64.
//
//   simt  tiles of A and B go through shared memory, a thread holds a block of the result in registers
//   dot   few rows or columns: a block of threads reads whole rows of both and adds up dot products; what counts is
//   that
//         the larger operand is read once
#pragma once

#include <cstdint>

#include "dsl/cuda/matmul_text.h"
#include "dsl/cuda/writer.h"

namespace hone::dsl {

// Where K is cut into `split` parts, a second kernel adds them up in their order. `tile` is 32 or 64: the side of
// the square of the result that a block makes.
void EmitMatmulSimt(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out, std::int64_t tile,
                    std::int64_t split);
// A block makes rows x columns of the result.
void EmitMatmulDot(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out, std::int64_t rows,
                   std::int64_t columns, std::int64_t split);

}  // namespace hone::dsl
