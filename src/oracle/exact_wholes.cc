#include "oracle/exact_wholes.h"

#include <utility>
#include <vector>

#include "graph/graph_builder.h"

namespace hone {

Graph WithExactWholes(const Graph& graph, std::size_t output) {
  const int buffer = graph.Output(output);
  const Buffer made = graph.buffers()[static_cast<std::size_t>(buffer)];
  GraphBuilder builder(graph);
  builder.DropOutputs();
  const int given = builder.AddInput({.name = "hone_given", .shape = made.shape, .dtype = made.dtype});
  std::vector<IndexVar> vars;
  std::vector<Expr> at;
  for (const auto extent : made.shape) {
    vars.push_back(NewIndex(extent));
    at.emplace_back(vars.back());
  }
  const Expr same = Equal(Load(given, at, ScalarType::kInt), Load(buffer, at, ScalarType::kInt));
  builder.AddOutput({.name = "hone_differs", .shape = made.shape, .dtype = DType::kF32, .role = Role::kOutput},
                    std::move(vars), Select(same, 0.0, 1.0));
  return builder.Take();
}

}  // namespace hone
