// How a matmul is computed, by the knob `path`:
//
//   tile    for compute-bound sizes: A and B are packed into panels, a block of the result is held in registers
//           (`micro`), blocks of A stay in the second-level cache (`tile`), and the epilogue is applied while the block
//           is still in L1 (cpu/matmul_tile.h)
//   dot     few rows or columns, both operands contiguous in K: dot products, bound by reading the larger operand once
//   stream  few rows, B contiguous in N: rows of B stream by and are added into accumulators in L1
#pragma once

#include "dsl/cpu/writer.h"
#include "dsl/kernel.h"

namespace hone::dsl {

void EmitMatmul(const KernelProgram& program, const Kernel& kernel, Writer& writer);

}  // namespace hone::dsl
