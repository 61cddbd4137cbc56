// Scans that keep the best element so far: what cummax and cummin share.
#pragma once

#include "graph/op.h"

namespace hone {

// The extreme of self from the first element to this one along dim, and where it is. Of equals the last one counts, and
// a NaN is extreme, as PyTorch has it.
void DefineRunningExtreme(OpCall& call, bool largest);

}  // namespace hone
