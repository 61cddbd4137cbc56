// What a bound asks of a graph. Of one with many layers that takes seconds, and several parts of a process ask for it:
// it is found out on threads of its own, once for each of the last few problems.
#pragma once

#include "analysis/cost.h"
#include "graph/graph.h"

namespace hone {

struct GraphCosts {
  Cost written, sure, least;  // GraphCost of each
  double saved_flops = 0;     // SavedFlops
};

// Any thread may ask.
GraphCosts CostsOf(const Graph& graph);

}  // namespace hone
