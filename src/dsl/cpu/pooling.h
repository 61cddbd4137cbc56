// How a pool is computed: a row of outputs along the innermost dimension after the other, each window place added to
// the whole row as vectors; only the ends of a row, whose windows reach beyond the input, are computed one by one.
#pragma once

#include "dsl/cpu/writer.h"
#include "dsl/kernel.h"

namespace hone::dsl {

void EmitPooling(const KernelProgram& program, const Kernel& kernel, Writer& writer);

}  // namespace hone::dsl
