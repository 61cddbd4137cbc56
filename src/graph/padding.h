// Padding of the last dimensions with what the tensor itself holds.
#pragma once

#include "graph/op.h"

namespace hone {

enum class EdgePadding { kReflect, kReplicate };  // mirrored at the edge, or the edge again and again
// Arguments self and padding (two numbers for each of the last `spatial` dimensions, from the last one on).
void DefineEdgePadding(OpCall& call, EdgePadding how, int spatial);

}  // namespace hone
