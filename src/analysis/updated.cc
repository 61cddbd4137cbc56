#include "analysis/updated.h"

#include <algorithm>

#include "expr/fold.h"

namespace hone {
namespace {

bool IsOwnPlace(const Graph& graph, const std::vector<IndexVar>& vars, const Expr& value) {
  if (value->kind != Expr::Kind::kLoad || value->operands.size() != vars.size()) return false;
  const Shape& shape = graph.buffers()[static_cast<std::size_t>(value->buffer)].shape;
  for (std::size_t d = 0; d < vars.size(); ++d) {
    const Expr& index = value->operands[d];
    if (shape[d] != vars[d].extent) return false;
    if (shape[d] != 1 && (index->kind != Expr::Kind::kIndex || index->index.id != vars[d].id)) return false;
  }
  return true;
}

}  // namespace

LetBy LetByOf(const Graph& graph, const std::vector<IndexVar>& vars, const Expr& value) {
  if (value->kind != Expr::Kind::kSelect) return {};
  const auto& sides = value->operands;
  if (IsOwnPlace(graph, vars, sides[2])) return {sides[2].get(), sides[0]};
  if (IsOwnPlace(graph, vars, sides[1])) return {sides[1].get(), Apply(UnaryOp::kNot, sides[0])};
  return {};
}

Replaced ReplacedBy(const Graph& graph, Which which) {
  Replaced replaced;
  const Problem& problem = graph.problem();
  const auto outputs = problem.Outputs();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (outputs[o]->updates.empty()) continue;
    std::map<int, double> chain;
    for (int buffer = SourceOf(graph, graph.Output(o));;) {
      const Buffer& at = graph.buffers()[static_cast<std::size_t>(buffer)];
      if (at.stage < 0) {
        if (problem.tensors[static_cast<std::size_t>(at.tensor)].name != outputs[o]->updates) break;
        double all = 0;
        for (const auto& [stage, share] : chain) all += share;
        replaced.by_output[SourceOf(graph, graph.Output(o))] = std::min(1.0, all);
        replaced.by_stage.merge(chain);
        break;
      }
      const Stage& stage = graph.stages()[static_cast<std::size_t>(at.stage)];
      const LetBy let_by = stage.sequence < 0 ? LetByOf(graph, stage.vars, stage.value) : LetBy{};
      if (let_by.load == nullptr) break;
      const double by_data = which == Which::kWritten ? 1 : 0;
      chain[buffer] = HasLoad(let_by.replaced) ? by_data : ShareTrue({let_by.replaced});
      buffer = SourceOf(graph, let_by.load->buffer);
    }
  }
  return replaced;
}

}  // namespace hone
