// Sums of so many independent draws that what they come to is known: the mean of a term, and how far a sum strays.
#pragma once

#include <optional>

#include "analysis/symbolic.h"
#include "expr/expr.h"
#include "graph/graph.h"

namespace hone {

// Of a sum over independent draws of inputs: one expression of them a term.
struct IndependentSum {
  double mean = 0, deviation = 0;
};
// Nothing when the terms of `sum` are not independent as far as can be seen, or hang on anything but draws.
std::optional<IndependentSum> SumOfDraws(const Graph& graph, const Symbolic& symbolic, const ExprNode& sum);

}  // namespace hone
