// Writes nests: the loops of an element expression with its folds, alone or in the lockstep of a sequence.
//
// A fold stands in the outermost loop that knows all of its indices. Where the innermost index of the result is one of
// them there are two ways:
//
//   result   a block of results side by side, one accumulator each; the folds' loops around the block
//   fold     one result after the other, the folds' innermost loop vectorised
#pragma once

#include "dsl/cpu/writer.h"
#include "dsl/kernel.h"

namespace hone::dsl {

// The kernel, or the whole sequence that it begins. Reads the settings threads, block and inner.
void EmitNest(const KernelProgram& program, const Kernel& kernel, Writer& writer);

}  // namespace hone::dsl
