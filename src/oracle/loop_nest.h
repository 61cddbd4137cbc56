// A graph as plain C++ loop nests, straight from the element definitions: the oracle, and the naive baseline.
#pragma once

#include <cstdint>
#include <string>

#include "graph/graph.h"
#include "oracle/key_lists.h"

namespace hone {

// A module (include/hone/module.h) in the problem's own types, one nest a stage, serial, nothing clever: what a
// compiler makes of the definitions with -O3 is the naive baseline.
std::string NaiveModule(const Graph& graph);

// The oracle's two halves: the values with the bounds of their errors, and the honest implementation, whose scales mean
// nothing. Either exports
//   void hone_oracle(const void* const* in, double* const* value, double* const* scale, int threads)
// with `in` in the order of Problem::Inputs() and one array an output. They are apart so that they compile side by
// side. Stages of at least `fewest_looks` looks at terms list them by their keys (key_lists.h).
struct OracleSources {
  std::string values, honest;
};
OracleSources SourcesOfOracle(const Graph& graph, std::int64_t fewest_looks = kLooksWorthLists);

}  // namespace hone
