// What a graph costs at least: arithmetic by kind, and the bytes that have to move. Counted from the element
// definitions, so every operator has it. Stages that no output needs cost nothing, nor do views.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/graph.h"

namespace hone {

struct Cost {
  double multiply_adds = 0;   // terms of contractions (sums of products): one fused multiply-add each
  double wholes8 = 0;         // of these, products of whole numbers of 8 bits (analysis/narrow.h)
  double reals8 = 0;          // of these, products of reals of 8 bits
  double arithmetic = 0;      // other additions, products, comparisons, roots ... of reals
  double transcendental = 0;  // exp, log, tanh, pow ...
  double bytes_read = 0;      // of values made outside that are read at least once, each once
  double bytes_written = 0;
  double flops() const { return 2 * multiply_adds + arithmetic + transcendental; }
  double bytes() const { return bytes_read + bytes_written; }
};

// Of one stage alone. Bytes: all that it reads, and its result.
Cost StageCost(const Graph& graph, std::size_t stage);
// Of one node as if it ran alone, its inner values staying in registers. Zero for a node that only renames (a view, an
// alias).
Cost NodeCost(const Graph& graph, int node);
// Of all that the outputs need. Bytes are the compulsory ones: inputs and parameters that are read, and outputs.
enum class Which : std::uint8_t {
  kWritten,  // by the definitions as they are written
  kSure,     // without reads that indices or conditions out of data may spare, nor terms before or behind such places
             // or where a mask out of data hides them
  kLeast,    // nor what some right implementation need not do: work on parameters alone, which can be done before;
             // windows that transforms make cheaper
};
Cost GraphCost(const Graph& graph, Which which = Which::kWritten);

}  // namespace hone
