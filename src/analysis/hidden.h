// Elements that are zero because conditions on their indices say so: weights of keys that a mask of attention hides. A
// sum of products need not look at them.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace hone {

// Conditions over the indices of `expr`, an expression of the graph's: the element is zero unless all of them hold.
// Those that are not seen, or hang on data, are not among them.
std::vector<Expr> ZeroUnless(const Graph& graph, const Expr& expr);

// Whether whole numbers or truth values that are made outside decide these conditions: a mask, lengths, where experts'
// rows end. What real numbers decide is not among it: nobody leaves out a product because an activation is zero.
bool IsOfPlacesOutOfData(const Graph& graph, const std::vector<Expr>& conditions);

// What a load reads, as the stage that makes it says; nothing where it is made outside or step by step.
std::optional<Expr> ElementOf(const Graph& graph, const ExprNode& load);

// `expr`, an expression of the graph's, with loads of truth values and whole numbers that are made of indices alone
// written out: what is asked of a mask that a stage of its own makes is then asked of the indices.
Expr OfIndices(const Graph& graph, const Expr& expr);

}  // namespace hone
