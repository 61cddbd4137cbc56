// Work that algebra saves: a sum that reaches one factor of a contraction only (the row sums of a matrix product need
// no matrix product), or contractions with nothing but linear steps between them, in a cheaper order. Found on the
// element definitions: what is linear is written out as sums of products, and the cheapest order of summation is
// counted.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/symbolic.h"
#include "graph/graph.h"

namespace hone {

struct Collapse {
  std::size_t stage = 0;             // whose buffer is made in another way
  std::vector<std::size_t> instead;  // the stages that are no longer needed
  Polynomial form;                   // the buffer's element in terms of what is left
  double flops_written = 0;          // of `stage` and `instead`
  double flops_needed = 0;           // in the cheapest order found; work on parameters alone counts each time
  std::string reason;                // "the sum over 8192 in node 3 (sum) reaches only w of ..."
};

// What saves at least half of the work of the stages that it replaces, no stage in two of them. `symbolic`: all stages
// are defined.
std::vector<Collapse> FindCollapses(const Graph& graph, Symbolic& symbolic);

// What all of them save, of a graph that nothing else has looked at.
double SavedFlops(const Graph& graph);

}  // namespace hone
