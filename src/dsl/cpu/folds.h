// Loop nests that fold over axes and then use what they folded: reduce, softmax and norm are made of these. Two shapes
// of nest:
//
//   rows     the innermost dimension is folded: one row after the other, several accumulators side by side
//   columns  the innermost dimension stays: blocks of columns, accumulators for a whole block, streaming down the rows
//
// and, where there are fewer rows or blocks than threads, a split: the folded range is cut into chunks whose partial
// results are combined at the end, in the order of the chunks, so that the result does not depend on the number of
// threads.
#pragma once

#include <vector>

#include "dsl/cpu/fold_knobs.h"
#include "dsl/cpu/writer.h"
#include "dsl/kernel.h"
#include "dsl/shape/fold_pass.h"

namespace hone::dsl {

// Passes in order, then `result`: an expression over the whole space if the family keeps its axes, else over the
// result's dimensions. Reads the settings threads, accumulators, columns, split and, of families that keep their axes,
// prefetch.
void EmitFolds(const KernelProgram& program, const Kernel& kernel, Writer& writer, const std::vector<FoldPass>& passes,
               const Expr& result);

}  // namespace hone::dsl
