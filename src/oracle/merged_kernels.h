// Kernels of the oracle that differ in numbers alone (extents, strides, where a part begins) become one, which has as
// parameters those in which they differ: a deep network has hundreds of stages of a few forms, and compiling is what
// takes longest of a first verdict. Tiles of products stay as they are. What a number's type or a template hangs on is
// never one of them, and a number in which all agree stays a constant.
#pragma once

#include "oracle/cuda_nest.h"

namespace hone {

// Values and order of all operations stay as they are. Kernels of one roundoff lie behind one another afterwards.
void MergeKernels(CudaNests& nests);

}  // namespace hone
