// A graph as plain C++ loop nests, straight from the element definitions: the oracle, and the naive baseline.
#pragma once

#include <string>

#include "graph/graph.h"

namespace hone {

// A module (include/hone/module.h) in the problem's own types, one nest a stage, serial, nothing clever: what a
// compiler makes of the definitions with -O3 is the naive baseline.
std::string NaiveModule(const Graph& graph);

// The oracle's source: exports
//   void hone_oracle(const void* const* in, double* const* value, double* const* scale, double* const* honest, int
//   threads)
// with `in` in the order of Problem::Inputs() and one array an output.
std::string OracleSource(const Graph& graph);

}  // namespace hone
