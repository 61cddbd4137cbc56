// How attention is computed: for a block of queries, keys go by in blocks whose scores are never written to memory. All
// is held transposed, a vector along queries: then the largest score, the sum and the scale of each query are lanes,
// and the rows of K and V are read where they lie, an element for a whole vector.
#pragma once

#include "dsl/cpu/writer.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// attention's iteration space is [batches.., M, E | N, D].
void EmitAttentionLanes(const KernelProgram& program, const Kernel& kernel, Writer& writer);
// One query at a time: nothing is transposed, vectors are along keys and values.
void EmitAttentionRows(const KernelProgram& program, const Kernel& kernel, Writer& writer);

}  // namespace hone::dsl
