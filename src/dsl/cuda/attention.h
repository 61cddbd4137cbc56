// Attention on the tensor cores of compute capability 9.0, for queries, keys and values of f16 or bf16. A block has the
// queries of a tile and goes through the keys and values, tile by tile: a warpgroup keeps a ring of shared-memory
// stages full with the bulk copy engine, one to three others have 64 queries each. What they multiply (wgmma) stays in
// registers: the scores become weights there, as powers of two over the largest so far, are rounded to the operands'
// type and multiply the values. While a warpgroup computes exponentials of one tile's scores, the tensor cores add the
// values of the tile before, and multiply for the others. Tiles that `causal` hides are not looked at, and only tiles
// at its edge are masked; the longest items come first then, and blocks take the next as they are done. Sums are f32;
// what is written is what the statement says.
#pragma once

#include <span>

#include "dsl/cuda/writer.h"
#include "dsl/family.h"
#include "dsl/kernel.h"

namespace hone::dsl {

std::span<const Knob> AttentionKnobsCuda();
void EmitAttentionCuda(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out);

}  // namespace hone::dsl
