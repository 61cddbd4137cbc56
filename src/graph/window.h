// Pooling: what the operators that slide a window share. Any number of spatial dimensions; the batch dimension may be
// absent.
#pragma once

#include "graph/op.h"

namespace hone {

void DefineMaxPool(OpCall& call, int spatial);  // the largest element, and its flat index among the places of its plane
void DefineAveragePool(OpCall& call, int spatial);  // the mean

// Windows that cover what they slide over as evenly as output_size allows: from floor(i n / m) to ceil((i + 1) n / m).
void DefineAdaptiveAveragePool(OpCall& call, int spatial);
void DefineAdaptiveMaxPool(OpCall& call, int spatial);  // and where it is
// Each element of self at the place that `indices` names in its plane of output_size; zero elsewhere.
void DefineMaxUnpool(OpCall& call, int spatial);

// Sliding blocks of [n, c, h, w] as columns [n, c * kernel, places], and back: overlapping blocks add up.
void DefineUnfoldBlocks(OpCall& call);
void DefineFoldBlocks(OpCall& call);

}  // namespace hone
