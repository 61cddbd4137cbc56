#include "analysis/needed.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "analysis/hidden.h"
#include "analysis/updated.h"
#include "expr/fold.h"

namespace hone {
namespace {

// Where in an expression a node is: behind which conditions. A node that is met behind different ones counts as always
// evaluated.
struct Path {
  std::vector<Expr> conditions;  // of indices
  bool by_data = false;          // there are others
};
class Paths {
 public:
  Paths(const Graph& graph, const Expr& value) : graph_(graph) { Walk(value, std::make_shared<Path>()); }
  const Path& Of(const ExprNode& node) const { return *paths_.at(&node); }

 private:
  void Walk(const Expr& e, std::shared_ptr<const Path> path) {
    auto& known = paths_[e.get()];
    if (known == path || (known && known->conditions.empty() && !known->by_data)) return;
    if (known) path = std::make_shared<Path>();
    known = path;
    if (IsSumOfProducts(*e)) {
      // A factor need not be known where the other one is zero.
      const std::vector<Expr>& factors = e->operands[0]->operands;
      for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
        auto further = std::make_shared<Path>(*path);
        const std::vector<Expr> conditions = ZeroUnless(graph_, factors[1 - side]);
        further->by_data = further->by_data || IsOfPlacesOutOfData(graph_, conditions);
        for (const Expr& condition : conditions) {
          if (!HasLoad(condition)) further->conditions.push_back(condition);
        }
        Walk(factors[side], further);
      }
      return;
    }
    if (e->kind != Expr::Kind::kSelect) {
      for (const Expr& operand : e->operands) Walk(operand, path);
      return;
    }
    const Expr& condition = e->operands[0];
    Walk(condition, path);
    for (const std::size_t side : {std::size_t{1}, std::size_t{2}}) {
      auto further = std::make_shared<Path>(*path);
      if (HasLoad(condition))
        further->by_data = true;
      else
        further->conditions.push_back(side == 1 ? condition : Apply(UnaryOp::kNot, condition));
      Walk(e->operands[side], further);
    }
  }

  static bool IsSumOfProducts(const ExprNode& e) {
    return e.kind == Expr::Kind::kReduce && e.reduce == ReduceOp::kSum && IsBinary(e.operands[0], BinaryOp::kMul);
  }

  const Graph& graph_;
  std::unordered_map<const ExprNode*, std::shared_ptr<const Path>> paths_;
};

using Dimensions = Part::Dimensions;

Dimensions One(std::size_t dimension) { return dimension < 64 ? Dimensions{1} << dimension : 0; }

double PlacesOf(const Shape& shape, Dimensions dimensions) {
  double places = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) places *= dimensions & One(d) ? static_cast<double>(shape[d]) : 1;
  return places;
}

// At how many places of some dimensions together there is an element of `part`, at least.
double Reached(const Part& part, const Shape& shape, Dimensions dimensions) {
  if (part.share <= 0) return 0;
  const double all = PlacesOf(shape, dimensions);
  double most = std::max(1.0, part.share * all);
  // What is reached in more dimensions is reached in some of them, too.
  for (const auto& [group, share] : part.reach) most = std::max(most, share * PlacesOf(shape, group & dimensions));
  return std::min(all, most);
}

// The same elements in another shape. Dimensions that became one, or came of one, keep what they reach together, and so
// do several of them.
Part Reshaped(const Part& part, const Shape& from, const Shape& to) {
  std::vector<std::pair<Dimensions, Dimensions>> same;  // the fewest dimensions of each that hold the same places
  std::size_t f = 0, t = 0;
  while (f < from.size() && t < to.size()) {
    Dimensions old = One(f), now = One(t);
    std::int64_t places = from[f++], other = to[t++];
    while (places != other && (places < other ? f < from.size() : t < to.size())) {
      if (places < other) {
        old |= One(f);
        places *= from[f++];
      } else {
        now |= One(t);
        other *= to[t++];
      }
    }
    if (places != other) break;
    if (places > 0) same.emplace_back(old, now);
  }
  Part turned{part.share, {}};
  const auto add = [&](Dimensions group) {
    Dimensions old = 0, now = 0;
    for (const auto& [before, after] : same) {
      if ((before & group) != before) continue;
      old |= before;
      now |= after;
    }
    if (now) turned.reach[now] = Reached(part, from, old) / PlacesOf(from, old);
  };
  for (const auto& [before, after] : same) add(before);
  for (const auto& [group, share] : part.reach) add(group);
  return turned;
}

// What a load reaches of a buffer, in the dimensions that it names by an index each, for all that a stage makes of its
// own buffer, if it is made where these conditions hold on its indices. Behind conditions: in each dimension that they
// are about, together with all that they say nothing of.
std::map<Dimensions, double> ReachOf(const ExprNode& load, const Shape& shape, const Stage& stage, const Part& made,
                                     const std::vector<Expr>& conditions) {
  Shape made_shape;
  for (const IndexVar& var : stage.vars) made_shape.push_back(var.extent);
  std::vector<Dimensions> result(shape.size(), 0);  // by dimension: the result's index that names it, if one does
  Dimensions plain = 0;                             // those that an index names
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const ExprNode& index = *load.operands[d];
    if (index.kind != Expr::Kind::kIndex || index.index.extent > shape[d]) continue;
    plain |= One(d);
    for (std::size_t v = 0; v < stage.vars.size(); ++v) {
      if (stage.vars[v].id == index.index.id) result[d] = One(v);
    }
  }
  std::map<Dimensions, double> reach;
  const auto add = [&](Dimensions group, double share = 1) {
    if (!group || reach.count(group)) return;
    Dimensions of_result = 0;
    std::map<int, std::int64_t> others;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (!(group & One(d))) continue;
      of_result |= result[d];
      if (!result[d]) others[load.operands[d]->index.id] = load.operands[d]->index.extent;
    }
    double places = Reached(made, made_shape, of_result);
    for (const auto& [id, extent] : others) places *= static_cast<double>(extent);
    reach[group] = share * places / PlacesOf(shape, group);
  };
  if (!conditions.empty()) {
    Dimensions free = plain;
    std::map<std::size_t, double> shares;  // by dimension that conditions are about
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const auto about = [&](const Expr& e) { return UsesIndex(e, load.operands[d]->index.id); };
      if (!(plain & One(d)) || std::none_of(conditions.begin(), conditions.end(), about)) continue;
      free &= ~One(d);
      shares[d] = ShareReached(conditions, load.operands[d]->index);
    }
    add(free);
    for (const auto& [d, share] : shares) add(free | One(d), share);
    return reach;
  }
  for (std::size_t d = 0; d < shape.size(); ++d) add(plain & One(d));
  add(plain);
  for (const auto& [group, share] : made.reach) {
    Dimensions image = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) image |= group & result[d] ? One(d) : 0;
    add(image);
  }
  return reach;
}

}  // namespace

void Part::Add(const Part& other) {
  share = std::min(1.0, share + other.share);
  for (const auto& [group, reached] : other.reach) {
    auto& known = reach[group];
    known = std::max(known, reached);
  }
}

std::map<int, Part> PartsRead(const Graph& graph, const Stage& stage, const Part& all_made, Which which,
                              double replaced) {
  std::map<int, Part> parts;
  const Expr value = OfIndices(graph, stage.value);
  const Paths paths(graph, value);
  // All that is replaced is made, which is what the other loads are for.
  const ExprNode* let_by = replaced > 0 ? LetByOf(graph, stage.vars, value).load : nullptr;
  const Part kept{std::max(0.0, all_made.share - replaced), {}}, rest = replaced > 0 ? Part::All() : all_made;
  Visit(value, [&](const ExprNode& node) {
    const Part& made = &node == let_by ? kept : rest;
    if (node.kind != Expr::Kind::kLoad || made.share <= 0) return;
    std::map<int, std::int64_t> vars;
    bool by_data = paths.Of(node).by_data;
    for (const auto& index : node.operands) {
      by_data = by_data || HasLoad(index);
      // An index out of data is loaded at these indices too: it picks no more elements than there are picks.
      Visit(index, [&](const ExprNode& part) {
        if (part.kind == Expr::Kind::kIndex) vars[part.index.id] = part.index.extent;
      });
    }
    if (by_data && which != Which::kWritten) return;
    std::vector<Expr> own;  // conditions on the indices of the load
    for (const Expr& condition : paths.Of(node).conditions) {
      bool others = false;
      Visit(condition, [&](const ExprNode& part) {
        others = others || (part.kind == Expr::Kind::kIndex && !vars.count(part.index.id));
      });
      if (!others) own.push_back(condition);
    }
    const double met = ShareTrue(own);
    const Shape& shape = graph.buffers()[static_cast<std::size_t>(node.buffer)].shape;
    const auto all = static_cast<double>(ElementCount(shape));
    if (all <= 0) return;
    double count = met;
    for (const auto& [id, extent] : vars) count *= static_cast<double>(extent);
    Part part{made.share * std::min(1.0, count / all), {}};
    if (met == 1) part.reach = ReachOf(node, shape, stage, made, {});
    // Of a part that is made the places may be others than those where the conditions hold.
    else if (met > 0 && made.share == 1)
      part.reach = ReachOf(node, shape, stage, made, own);
    for (const auto& [group, reached] : part.reach)
      part.share = std::max(part.share, reached * PlacesOf(shape, group) / all);
    parts[node.buffer].Add(part);
  });
  return parts;
}

std::vector<Part> PartsNeeded(const Graph& graph, Which which) {
  std::vector<Part> needed(graph.buffers().size());
  const auto shape_of = [&](int buffer) -> const Shape& {
    return graph.buffers()[static_cast<std::size_t>(buffer)].shape;
  };
  for (std::size_t o = 0; o < graph.problem().Outputs().size(); ++o)
    needed[static_cast<std::size_t>(graph.Output(o))] = Part::All();
  const Replaced replaced = ReplacedBy(graph, which);
  for (std::size_t o = 0; o < graph.problem().Outputs().size(); ++o) {
    if (replaced.by_output.contains(SourceOf(graph, graph.Output(o))))
      needed[static_cast<std::size_t>(graph.Output(o))] = {};
  }
  for (const auto& [buffer, share] : replaced.by_stage) needed[static_cast<std::size_t>(buffer)].share = share;
  const auto live = LiveStages(graph);
  for (std::size_t s = live.size(); s-- > 0;) {
    const Stage& stage = graph.stages()[s];
    if (!live[s]) continue;
    auto& own = needed[static_cast<std::size_t>(stage.buffer)];
    if (stage.sequence >= 0) own = Part::All();
    if (stage.reshape_of >= 0) {
      needed[static_cast<std::size_t>(stage.reshape_of)].Add(
          Reshaped(own, shape_of(stage.buffer), shape_of(stage.reshape_of)));
      continue;
    }
    for (const auto& [buffer, part] : PartsRead(graph, stage, own, which, replaced.Of(stage.buffer)))
      needed[static_cast<std::size_t>(buffer)].Add(stage.sequence >= 0 ? Part::All() : part);
  }
  return needed;
}

}  // namespace hone
