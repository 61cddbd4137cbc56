// What a sum of products costs where parameters are multiplied with each other first: each result is then a sum over
// the elements of data that it depends on, each times one number, however many products it was written with. A
// transposed convolution and a pool over its result are one convolution with fewer terms.
#pragma once

#include <vector>

#include "analysis/symbolic.h"
#include "graph/graph.h"

namespace hone {

// FLOPs of all elements over `outer`, work on parameters alone included, which counts each time. Infinity where a term
// is no product of one element of data with parameters, or too large to be counted. From samples of the elements.
double LinearMapFlops(const Graph& graph, const Polynomial& sum, const std::vector<IndexVar>& outer);

}  // namespace hone
