// Pooling: what the operators that slide a window share. Any number of spatial dimensions; the batch dimension may be
// absent.
#pragma once

#include "graph/op.h"

namespace hone {

void DefineMaxPool(OpCall& call, int spatial);  // the largest element, and its flat index among the places of its plane
void DefineAveragePool(OpCall& call, int spatial);  // the mean

}  // namespace hone
