// Products of numbers of 8 bits, in whatever type their multiplication is spelled. Units for such numbers make them
// exactly, and several times as many as of wider ones.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace hone {

enum class NarrowProduct : std::uint8_t {
  kNone,
  kReals8,   // of reals of 8 bits
  kWholes8,  // of whole numbers of 8 bits
};

// Of `sum`, a sum of products in a stage: what its factors are but for what can be taken out of the sum, or of large
// parts of it, as scales of rows and of blocks, and zero points.
NarrowProduct NarrowestProduct(const Graph& graph, const ExprNode& sum);

// Whether a product's factors are more than truth values, that are counted rather than multiplied.
bool IsOfMoreThanTruths(const Graph& graph, const ExprNode& sum);

// The factors of a product of products.
std::vector<Expr> FactorsOf(const Expr& product);

}  // namespace hone
