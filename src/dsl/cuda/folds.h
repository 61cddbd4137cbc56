// Kernels that fold over axes and then use what they folded, for CUDA: reduce, softmax and norm are made of these. A
// row's elements are shared out to `lanes` threads:
//
//   rows     the innermost dimension is folded: neighbouring threads read neighbouring elements of a row, which may
//            stay in registers from pass to pass; rows that lie across memory are turned in shared memory
//            (fold_turned.h)
//   columns  the innermost dimension stays: a warp reads neighbouring columns, `lanes` warps go down the rows
//
// and, where there are too few rows to fill the device, a split: each folded range is cut into chunks for blocks of
// their own, whose partial results a second kernel combines in the order of the chunks. No atomics: one program, one
// result.
#pragma once

#include <vector>

#include "dsl/cuda/writer.h"
#include "dsl/family.h"
#include "dsl/shape/fold_pass.h"

namespace hone::dsl {

// As EmitFolds (dsl/cpu/folds.h); `keep` and `online` of passes are not looked at.
void EmitFoldsCuda(const KernelProgram& program, const Kernel& kernel, DeviceWriter& out,
                   const std::vector<FoldPass>& passes, const Expr& result);

}  // namespace hone::dsl
