#include "graph/trimmed.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "expr/affine.h"
#include "expr/linear_index.h"
#include "graph/graph_builder.h"
#include "graph/reshape.h"

namespace hone {
namespace {

// What is trimmed keeps less of a buffer than this: rows of odd lengths are read more slowly.
constexpr double kKept = 0.9;

// A dimension that no shape of a buffer takes apart further, and what is read of it.
struct Dim {
  std::int64_t extent = 1;
  std::int64_t low = 0, high = -1;  // the first place and the last
  std::int64_t apart = 0;           // from one to the next; 0: none but the first was met yet

  std::int64_t step() const { return std::max<std::int64_t>(apart, 1); }
  std::int64_t kept() const { return (high - low) / step() + 1; }
  void Add(const Expr& place) {
    const auto [least, most] = IndexRange(place);
    const auto end = static_cast<double>(extent - 1);
    const auto first = static_cast<std::int64_t>(std::clamp(least, 0.0, end));
    const auto last = static_cast<std::int64_t>(std::clamp(most, 0.0, end));
    // What lies outside is behind a condition that keeps it there.
    const bool inside = least >= 0 && most <= end;
    const auto affine = AffineOf(place);
    apart = std::gcd(apart, inside && affine ? 0 : 1);
    if (affine) {
      for (const auto& [_, times] : affine->coefficient) apart = std::gcd(apart, times);
    }
    const bool met = low <= high;
    if (met) apart = std::gcd(apart, first - low);
    low = met ? std::min(low, first) : first;
    high = met ? std::max(high, last) : last;
  }
};

Shape ExtentsOf(const std::vector<Dim>& dims) {
  Shape extents;
  for (const Dim& dim : dims) extents.push_back(dim.extent);
  return extents;
}

// As in the places that are kept.
Expr Kept(const Dim& dim, const Expr& place) {
  if (dim.kept() == 1) return 0;
  LinearIndex at = ToLinear(place - dim.low);
  at.constant /= dim.step();  // which divides all of it
  for (auto& [_, times] : at.atoms) times /= dim.step();
  return FromLinear(std::move(at));
}

class Trimmer {
 public:
  explicit Trimmer(const Graph& graph) : graph_(graph), builder_(graph), live_(LiveStages(graph)) {
    for (std::size_t s = 0; s < graph.stages().size(); ++s) {
      if (live_[s]) Learn(s);
    }
    for (std::size_t o = 0; o < graph.problem().Outputs().size(); ++o)
      outputs_.insert(SourceOf(graph, graph.Output(o)));
  }

  std::optional<Graph> Run() {
    for (std::size_t s = live_.size(); s-- > 0;) {
      const Stage& stage = graph_.stages()[s];
      if (!live_[s] || stage.reshape_of >= 0 || stage.sequence >= 0 || stage.any_of_equals) continue;
      if (outputs_.contains(stage.buffer)) continue;
      if (Trim(s)) trimmed_.insert(stage.buffer);
    }
    if (trimmed_.empty()) return std::nullopt;
    for (std::size_t s = 0; s < live_.size(); ++s) {
      const Stage& stage = graph_.stages()[s];
      // It may read what has another shape now.
      if (!live_[s] || (stage.reshape_of >= 0 && trimmed_.contains(SourceOf(graph_, stage.buffer))))
        builder_.Forget(stage.buffer);
    }
    return builder_.Take();
  }

 private:
  const Buffer& buffer(int id) const { return graph_.buffers()[static_cast<std::size_t>(id)]; }
  Expr& value(std::size_t stage) { return values_[stage]; }

  void Learn(std::size_t s) {
    const Stage& stage = graph_.stages()[s];
    values_[s] = stage.value;
    if (stage.reshape_of >= 0) return;
    Visit(stage.value, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kLoad) readers_[SourceOf(graph_, node.buffer)].insert(s);
    });
  }

  // The dimensions in which every shape that the buffer is seen in has its own; outermost first. Nothing where some
  // overlap.
  std::optional<std::vector<Dim>> DimsOf(const std::set<int>& names) const {
    std::set<std::int64_t> strides = {1};
    for (const int name : names) {
      const Shape& shape = buffer(name).shape;
      const auto dense = DenseStrides(shape);
      strides.insert(dense.begin(), dense.end());
    }
    std::int64_t outer = ElementCount(buffer(*names.begin()).shape);
    std::vector<Dim> dims;
    for (auto stride = strides.rbegin(); stride != strides.rend(); outer = *stride++) {
      if (outer % *stride != 0) return std::nullopt;
      if (outer > *stride) dims.push_back({.extent = outer / *stride});
    }
    return dims;
  }

  // Whether no division is among them that the indices do not have.
  static bool AreAsSimple(const std::vector<Expr>& places, const std::vector<Expr>& indices) {
    return std::ranges::all_of(places, [&](const Expr& place) {
      return AffineOf(place) || std::ranges::find(indices, place.get(), &Expr::get) != indices.end();
    });
  }

  // Neighbours as one again of which all of the inner one is kept, and of the outer one what lies in a row.
  static std::vector<Dim> Together(const std::vector<Dim>& dims) {
    std::vector<Dim> merged;
    for (const Dim& dim : dims) {
      if (!merged.empty() && merged.back().step() == 1 && dim.kept() == dim.extent) {
        Dim& both = merged.back();
        both.low *= dim.extent;
        both.high = (both.high + 1) * dim.extent - 1;
        both.extent *= dim.extent;
        both.apart = 1;
      } else {
        merged.push_back(dim);
      }
    }
    return merged;
  }

  bool Trim(std::size_t s) {
    const Stage& stage = graph_.stages()[s];
    const std::int64_t all = ElementCount(buffer(stage.buffer).shape);
    const auto& readers = readers_[stage.buffer];
    if (all <= 1 || readers.empty()) return false;
    // By those who are trimmed already.
    std::vector<const ExprNode*> loads;
    for (const std::size_t reader : readers) {
      Visit(value(reader), [&](const ExprNode& node) {
        if (node.kind == Expr::Kind::kLoad && SourceOf(graph_, node.buffer) == stage.buffer) loads.push_back(&node);
      });
    }
    std::set<int> names = {stage.buffer};
    for (const ExprNode* load : loads) names.insert(load->buffer);
    auto dims = DimsOf(names);
    if (!dims) return false;
    const auto places_of = [&](const ExprNode& load) {
      return InShape(load.operands, buffer(load.buffer).shape, ExtentsOf(*dims));
    };
    for (const ExprNode* load : loads) {
      if (load->may_miss) return false;
      const auto places = places_of(*load);
      for (std::size_t d = 0; d < dims->size(); ++d) (*dims)[d].Add(places[d]);
    }
    std::int64_t kept = 1;
    for (const Dim& dim : *dims) kept *= dim.kept();
    if (static_cast<double>(kept) > kKept * static_cast<double>(all)) return false;
    const auto as_simple = [&](const ExprNode* load) { return AreAsSimple(places_of(*load), load->operands); };
    if (!std::ranges::all_of(loads, as_simple)) dims = Together(*dims);
    if (!std::ranges::all_of(loads, as_simple)) return false;

    for (const std::size_t reader : readers) {
      value(reader) = ReplaceLoads(value(reader), [&](const ExprNode& load) -> Expr {
        if (SourceOf(graph_, load.buffer) != stage.buffer) return {};
        const auto places = places_of(load);
        std::vector<Expr> indices;
        for (std::size_t d = 0; d < dims->size(); ++d) indices.push_back(Kept((*dims)[d], places[d]));
        return Load(stage.buffer, std::move(indices), load.type);
      });
      builder_.DefineStep(graph_.stages()[reader].buffer, value(reader));
    }
    Redefine(s, *dims);
    return true;
  }

  // The stage over what is kept of its dimensions.
  void Redefine(std::size_t s, const std::vector<Dim>& dims) {
    const Stage& stage = graph_.stages()[s];
    const Shape& shape = buffer(stage.buffer).shape;
    std::vector<IndexVar> vars;
    std::vector<Expr> indices;
    for (const Dim& dim : dims) {
      vars.push_back(NewIndex(dim.kept()));
      indices.push_back(Expr(vars.back()) * dim.step() + dim.low);
    }
    const auto in_shape = InShape(indices, ExtentsOf(dims), shape);
    std::map<int, Expr> places;  // by the index that it was
    for (std::size_t d = 0; d < shape.size(); ++d) places[stage.vars[d].id] = FromLinear(ToLinear(in_shape[d]));
    value(s) = Substitute(value(s), [&](const IndexVar& var) -> Expr {
      const auto at = places.find(var.id);
      return at == places.end() ? Expr() : at->second;
    });
    builder_.Redefine(stage.buffer, std::move(vars), value(s));
  }

  const Graph& graph_;
  GraphBuilder builder_;
  std::vector<bool> live_;
  std::map<std::size_t, Expr> values_;            // of live stages, as they have become
  std::map<int, std::set<std::size_t>> readers_;  // by buffer that is no reshape
  std::set<int> outputs_, trimmed_;               // likewise
};

}  // namespace

std::optional<Graph> Trimmed(const Graph& graph) { return Trimmer(graph).Run(); }

}  // namespace hone
