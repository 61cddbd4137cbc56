#include "command/graph_of.h"

#include <fmt/format.h>

#include <utility>

namespace hone {

Result<Graph> GraphOf(Problem problem, std::string_view path) {
  auto graph = Graph::Create(std::move(problem));
  if (!graph) graph.error().message = fmt::format("{}: {}", path, graph.error().message);
  return graph;
}

}  // namespace hone
