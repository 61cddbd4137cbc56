#include "propose/expert/memory.h"

#include <algorithm>
#include <set>

#include "dsl/program.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {

Memory::Memory(const Graph& graph) : graph_(&graph) {
  for (std::size_t b = 0; b < graph.buffers().size(); ++b) {
    roots_.push_back(SourceOf(graph, static_cast<int>(b)));
    shapes_.push_back(graph.buffers()[b].shape);
  }
  for (std::size_t b = 0; b < graph.buffers().size(); ++b) {
    roots_.push_back(roots_[b]);
    Shape last = shapes_[b];
    if (last.size() > 2) std::rotate(last.begin() + 1, last.begin() + 2, last.end());
    shapes_.push_back(std::move(last));
  }
  for (std::size_t o = 0; o < graph.problem().Outputs().size(); ++o) {
    const int root = Root(graph.Output(o));
    const bool taken = graph.buffers()[static_cast<std::size_t>(root)].stage < 0 ||
                       std::find(makers_.begin(), makers_.end(), root) != makers_.end();
    makers_.push_back(taken ? graph.Output(o) : root);
  }
  // As which types what computes with a buffer's elements reads them: through what only converts or turns them, too.
  std::vector<std::set<DType>> read(graph.buffers().size());
  const auto type = [&](int buffer) { return graph.buffers()[static_cast<std::size_t>(buffer)].dtype; };
  for (auto stage = graph.stages().rbegin(); stage != graph.stages().rend(); ++stage) {
    const auto& later = read[static_cast<std::size_t>(stage->buffer)];
    const bool passes = stage->value->kind == Expr::Kind::kLoad && !IsSmallFloat(type(stage->buffer)) && !later.empty();
    Visit(stage->value, [&](const ExprNode& node) {
      if (node.kind != Expr::Kind::kLoad) return;
      auto& types = read[static_cast<std::size_t>(node.buffer)];
      // A load within its places is no copy: it says where.
      const bool copied = &node == stage->value.get();
      if (copied && passes) {
        types.insert(later.begin(), later.end());
      } else {
        types.insert(type(copied ? stage->buffer : node.buffer));
      }
    });
  }
  for (std::size_t b = 0; b < read.size(); ++b) {
    const DType own = graph.buffers()[b].dtype;
    const bool halves = !IsSmallFloat(own) && read[b].size() == 1 && IsSmallFloat(*read[b].begin());
    kept_as_.push_back(halves ? *read[b].begin() : own);
  }
  DefinedRanges ranges(graph);
  for (std::size_t b = 0; b < graph.buffers().size(); ++b) ranges_.push_back(ranges.Of(static_cast<int>(b)));
}

std::optional<int> Memory::ChannelsLast(int buffer) const {
  if (shape(buffer).size() < 3) return std::nullopt;
  return static_cast<int>(graph_->buffers().size()) + buffer;
}

bool Memory::IsOutput(int buffer) const { return std::find(makers_.begin(), makers_.end(), buffer) != makers_.end(); }

std::optional<Affine> Memory::Position(const ExprNode& load) const {
  const auto& indices = load.operands;
  if (indices.empty()) return Affine{};
  if (indices.size() == 1) return AffineOf(indices[0]);
  const auto strides = DenseStrides(shape(load.buffer));
  Affine flat;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const auto index = AffineOf(indices[d]);
    if (!index) return std::nullopt;
    flat = Combine(std::move(flat), *index, strides[d]);
  }
  return flat;
}

std::vector<FlatLoad> Memory::Loads(const Expr& expr) const {
  std::vector<FlatLoad> loads;
  Visit(expr, [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kLoad) return;
    FlatLoad load{Root(node.buffer), Position(node), node.type};
    for (const auto& known : loads) {
      if (known.buffer == load.buffer && known.position == load.position) return;
    }
    loads.push_back(std::move(load));
  });
  return loads;
}

Expr Memory::Flat(const Expr& expr) const {
  return Rewrite(expr, [&](const Expr& e) -> Expr {
    if (e->kind != Expr::Kind::kLoad) return {};
    const auto position = Position(*e);
    if (!position) return {};
    return Load(Root(e->buffer), {ToExpr(*position, VarsIn(*e))}, e->type);
  });
}

}  // namespace hone::expert
