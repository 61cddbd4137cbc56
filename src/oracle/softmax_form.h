// Where the definitions make a softmax: exp(x - m) over the sum of exp(x - m), or x - m less that sum's logarithm.
// Taken apart into its operations it seems to lose all digits as soon as an x may be off by a tenth, since nothing says
// that what is divided is one of the terms, that all of these are positive, and that m does not matter.
#pragma once

#include <unordered_set>
#include <vector>

#include "graph/graph.h"

namespace hone {

struct SoftmaxNodes {
  std::unordered_set<const ExprNode*> shifts;     // x - m, where it is one of a softmax
  std::unordered_set<const ExprNode*> quotients;  // exp(x - m) / sum
  std::unordered_set<const ExprNode*> logs;       // log(sum)
};

// In the values of `stages`, as they are: those of a graph, some of them without a value.
SoftmaxNodes FindSoftmaxes(const Graph& graph, const std::vector<Stage>& stages);

}  // namespace hone
