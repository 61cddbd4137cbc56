// Elements that are zero because conditions on their indices say so: weights of keys that a mask of attention hides. A
// sum of products need not look at them.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace hone {

// Conditions over the indices of `expr`, an expression of the graph's: the element is zero unless all of them hold.
// Those that are not seen, or hang on data, are not among them.
std::vector<Expr> ZeroUnless(const Graph& graph, const Expr& expr);

// `expr`, an expression of the graph's, with loads of truth values and whole numbers that are made of indices alone
// written out: what is asked of a mask that a stage of its own makes is then asked of the indices.
Expr OfIndices(const Graph& graph, const Expr& expr);

}  // namespace hone
