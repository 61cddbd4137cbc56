// What a graph has to read twice: a sum over elements that outgrow all memory near the arithmetic, which each of them
// is then set against (a norm, a softmax). Before the sum is done none of the results is known, and by then most of the
// elements are gone.
#pragma once

#include "graph/graph.h"

namespace hone {

// Bytes of inputs and parameters that every implementation reads once more than GraphCost counts, if `kept_bytes` at
// most stay near: of each group of elements under one sum, what is more than that. Counted where elements and sums meet
// through arithmetic alone; elsewhere it is 0.
double RereadBytes(const Graph& graph, double kept_bytes);

}  // namespace hone
