// Whole numbers from 2^53 on, of which a double does not hold all: what is expected is one (oracle.h), so outputs that
// have such numbers are compared where they are made.
#pragma once

#include <cstddef>

#include "graph/graph.h"

namespace hone {

inline constexpr double kExactWholes = 0x1p53;  // below it doubles are as good

// Of an output of whole numbers: the graph with one more input, the output as somebody gave it, and with one output
// alone, of its shape: 0 where the two are the same, 1 where not.
Graph WithExactWholes(const Graph& graph, std::size_t output);

}  // namespace hone
