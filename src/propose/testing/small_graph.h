// A graph that proposers can be asked about: y = relu(x) of four elements.
#pragma once

#include "base/testing/must.h"
#include "graph/graph.h"

namespace hone::testing {

inline Graph SmallGraph() {
  return Must(Graph::Create(Must(ParseProblem(R"({"hone_problem": 1, "name": "test", "tensors": [
      {"name": "x", "shape": [4], "dtype": "f32", "role": "input", "generator": {"kind": "uniform", "low": 0, "high": 1}},
      {"name": "y", "shape": [4], "dtype": "f32", "role": "output"}],
      "graph": [{"op": "relu", "args": {"self": "%x"}, "outputs": ["y"]}]})",
                                              "test"))));
}

}  // namespace hone::testing
