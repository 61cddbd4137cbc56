// Matrix products from packed panels. B as a whole is packed into panels of columns, when
// the module is prepared if it is made of parameters; each thread packs the block of A that it is about to multiply,
// and holds a block of the result in registers while it goes down the panels.
#pragma once

#include "dsl/cpu/matmul_panels.h"
#include "dsl/cpu/writer.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// What a way emits (Way::emit_cpu), from panels of numbers and of pairs. Reads the settings micro, tile, prepack and,
// if there is one, pack. Where blocks have scales, what each of them sums is scaled as it is added to the tile.
void EmitMatmulTile(const KernelProgram& program, const Kernel& kernel, Writer& writer);
void EmitMatmulPairs(const KernelProgram& program, const Kernel& kernel, Writer& writer);

}  // namespace hone::dsl
