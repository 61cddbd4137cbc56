#include "analysis/cost.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <vector>

#include "analysis/hidden.h"
#include "analysis/narrow.h"
#include "analysis/needed.h"
#include "analysis/symbolic.h"
#include "analysis/updated.h"
#include "expr/fold.h"

namespace hone {
namespace {

bool IsTranscendental(UnaryOp op) {
  switch (op) {
    case UnaryOp::kNeg:
    case UnaryOp::kAbs:
    case UnaryOp::kSqrt:
    case UnaryOp::kRsqrt:
    case UnaryOp::kReciprocal:
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kTrunc:
    case UnaryOp::kRound:
    case UnaryOp::kSign:
    case UnaryOp::kIsNan:
    case UnaryOp::kNot: return false;
    default: return true;
  }
}

bool IsProduct(const ExprNode& node) { return node.kind == Expr::Kind::kBinary && node.binary == BinaryOp::kMul; }

// Of how many elements that a condition out of data is asked about at most one can meet it: where an index names the
// place that something goes to (graph/scatter.h), all those along its dimension.
double HitsOneOf(const Expr& condition, const std::vector<IndexVar>& results) {
  double one_of = 1;
  for (const Expr& part : Conjuncts(condition)) {
    if (part->kind == Expr::Kind::kSelect) one_of *= HitsOneOf(part->operands[1], results);
    if (part->kind != Expr::Kind::kBinary || part->binary != BinaryOp::kEqual) continue;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const ExprNode& place = *part->operands[side];
      const Expr& named = part->operands[1 - side];
      if (place.kind != Expr::Kind::kIndex || !HasLoad(named) || UsesIndex(named, place.index.id)) continue;
      for (const IndexVar& var : results) {
        if (var.id == place.index.id) one_of *= static_cast<double>(var.extent);
      }
    }
  }
  return one_of;
}

// Whether a condition asks if a term's index lies before or behind a place out of data: how many do, data decide.
bool IsEdgeOutOfData(const Expr& part, const std::vector<IndexVar>& over, BinaryOp op, std::size_t index_side) {
  if (part->kind != Expr::Kind::kBinary || part->binary != op) return false;
  const Expr &index = part->operands[index_side], &edge = part->operands[1 - index_side];
  return index->kind == Expr::Kind::kIndex && HasLoad(edge) &&
         std::any_of(over.begin(), over.end(), [&](const IndexVar& var) { return var.id == index->index.id; });
}

// Terms between two places out of data are a result's own: of all results along an index that both places are of, each
// term is of one, as rows are of one expert. What is sure is none.
double ShareBetweenEdges(const Expr& condition, const ExprNode& reduce, const std::vector<IndexVar>& results,
                         Which which) {
  std::vector<Expr> begins, ends;
  for (const Expr& part : Conjuncts(condition)) {
    if (IsEdgeOutOfData(part, reduce.over, BinaryOp::kLessEqual, 1)) begins.push_back(part->operands[0]);
    if (IsEdgeOutOfData(part, reduce.over, BinaryOp::kLess, 0)) ends.push_back(part->operands[1]);
  }
  if (which != Which::kWritten) return begins.empty() && ends.empty() ? 1 : 0;
  double share = 1;
  for (const IndexVar& var : results) {
    const auto is_of_it = [&](const Expr& edge) { return UsesIndex(edge, var.id); };
    if (std::any_of(begins.begin(), begins.end(), is_of_it) && std::any_of(ends.begin(), ends.end(), is_of_it))
      share /= static_cast<double>(var.extent);
  }
  return share;
}

// Of a reduction's terms, the share that is not left out: where a window reaches over the edge, a transposed
// convolution falls between two elements, what is scattered goes elsewhere, or a mask hides what is weighed, there is
// nothing to add.
double ShareOfTerms(const Graph& graph, const ExprNode& reduce, const std::vector<IndexVar>& results, Which which) {
  const Expr& term = reduce.operands[0];
  std::vector<Expr> conditions;
  const auto keep = [&](const Expr& e, double otherwise) {
    if (e->kind != Expr::Kind::kSelect || e->operands[2]->kind != Expr::Kind::kConst) return;
    if (NumberOf(*e->operands[2]) == otherwise) conditions.push_back(e->operands[0]);
  };
  keep(term, IdentityOf(reduce.reduce));
  if (reduce.reduce == ReduceOp::kSum && IsProduct(*term)) {
    for (const auto& factor : term->operands) {
      keep(factor, 0);
      for (auto& condition : ZeroUnless(graph, factor)) conditions.push_back(std::move(condition));
    }
  } else if (reduce.reduce == ReduceOp::kSum && conditions.empty()) {
    conditions = ZeroUnless(graph, term);
  }
  if (which != Which::kWritten && IsOfPlacesOutOfData(graph, conditions)) return 0;
  double share = ShareTrue(conditions);
  for (const Expr& condition : conditions)
    share *= ShareBetweenEdges(condition, reduce, results, which) / HitsOneOf(condition, results);
  return share;
}

// A sum of products over windows, whose places are sums of an index of its own and one of the result, of more terms
// than a filter of three by three has: from there on transforms save as much as one likes.
bool IsWideWindow(const ExprNode& sum) {
  std::map<int, std::int64_t> in_window;
  Visit(sum.operands[0], [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kLoad) return;
    for (const Expr& index : node.operands) {
      if (HasLoad(index)) continue;
      bool of_result = false;
      std::map<int, std::int64_t> own;
      Visit(index, [&](const ExprNode& part) {
        if (part.kind != Expr::Kind::kIndex) return;
        const auto is_it = [&](const IndexVar& var) { return var.id == part.index.id; };
        if (std::any_of(sum.over.begin(), sum.over.end(), is_it))
          own[part.index.id] = part.index.extent;
        else
          of_result = true;
      });
      if (of_result) in_window.insert(own.begin(), own.end());
    }
  });
  std::int64_t taps = 1;
  for (const auto& [id, extent] : in_window) taps *= extent;
  return taps > 9;
}

// Counts the work of one element; work inside a reduction is done once a term.
class Counter {
 public:
  Counter(const Graph& graph, Cost& cost, const std::vector<IndexVar>& results, Which which)
      : graph_(graph), cost_(cost), results_(results), which_(which) {}

  void Count(const ExprNode& node, double times) {
    if (node.kind == Expr::Kind::kLoad) return;  // index arithmetic is not counted
    if (!seen_.insert(&node).second) return;
    const bool real = !node.operands.empty() && node.operands[0]->type == ScalarType::kReal;
    switch (node.kind) {
      case Expr::Kind::kUnary:
        if (real) (IsTranscendental(node.unary) ? cost_.transcendental : cost_.arithmetic) += times;
        break;
      case Expr::Kind::kBinary:
        if (real)
          (node.binary == BinaryOp::kPow || node.binary == BinaryOp::kAtan2 ? cost_.transcendental
                                                                            : cost_.arithmetic) += times;
        break;
      case Expr::Kind::kReduce: return CountReduce(node, times);
      case Expr::Kind::kSelect: {
        // What whole numbers out of data choose may be the side that is no work.
        if (which_ != Which::kWritten && IsOfPlacesOutOfData(graph_, {node.operands[0]}))
          return Count(*node.operands[0], times);
        // Where indices alone decide, the other side is no work.
        const double share = ShareTrue({node.operands[0]});
        Count(*node.operands[0], times);
        Count(*node.operands[1], times * share);
        return Count(*node.operands[2], times * ShareTrue({Apply(UnaryOp::kNot, node.operands[0])}));
      }
      default: break;
    }
    for (const auto& operand : node.operands) Count(*operand, times);
  }

 private:
  void CountReduce(const ExprNode& node, double times) {
    const ExprNode& term = *node.operands[0];
    const bool products = node.reduce == ReduceOp::kSum && IsProduct(term);
    const NarrowProduct narrow = products ? NarrowestProduct(graph_, node) : NarrowProduct::kNone;
    // How many there are, or whether there is one, sorting and searching find out with less than one look at each.
    const bool wholes = narrow == NarrowProduct::kWholes8 && IsOfMoreThanTruths(graph_, node);
    if (node.type != ScalarType::kReal && !IsArg(node.reduce) && !wholes) return;
    for (const auto& var : node.over) times *= static_cast<double>(var.extent);
    times *= ShareOfTerms(graph_, node, results_, which_);
    if (products) {
      if (which_ != Which::kLeast || !IsWideWindow(node)) {
        cost_.multiply_adds += times;
        if (narrow == NarrowProduct::kWholes8) cost_.wholes8 += times;
        if (narrow == NarrowProduct::kReals8) cost_.reals8 += times;
      }
      return CountFactors(node, times);
    }
    if (term.type == ScalarType::kReal) cost_.arithmetic += times;
    Count(term, times);
  }

  // What a sum of products needs beside a multiply-add for each of its terms. A factor is made once for all terms that
  // share it, and multiplied before into one that hangs on the same indices: a scale into the element that it scales.
  void CountFactors(const ExprNode& sum, double times) {
    struct Together {
      std::set<int> indices;
      double places = 1;
    };
    std::vector<Together> groups, factors;
    for (const Expr& factor : FactorsOf(sum.operands[0])) {
      Together one;
      for (const auto* vars : {&results_, &sum.over}) {
        for (const IndexVar& var : *vars) {
          if (!UsesIndex(factor, var.id)) continue;
          one.indices.insert(var.id);
          one.places *= static_cast<double>(var.extent);
        }
      }
      one.places = std::min(one.places, times);
      Count(*factor, one.places);
      factors.push_back(std::move(one));
    }
    std::stable_sort(factors.begin(), factors.end(),
                     [](const auto& a, const auto& b) { return a.indices.size() > b.indices.size(); });
    double before = 0;
    for (Together& one : factors) {
      const auto into = std::find_if(groups.begin(), groups.end(), [&](const Together& group) {
        return std::includes(group.indices.begin(), group.indices.end(), one.indices.begin(), one.indices.end());
      });
      if (into == groups.end())
        groups.push_back(std::move(one));
      else
        before += into->places;
    }
    if (sum.type != ScalarType::kReal) return;
    if (groups.size() > 1)
      cost_.arithmetic += static_cast<double>(groups.size() - 2) * times;
    else
      before = static_cast<double>(factors.size() - 2) * groups[0].places;
    if (which_ != Which::kLeast) cost_.arithmetic += before;
  }

  const Graph& graph_;
  Cost& cost_;
  const std::vector<IndexVar>& results_;
  Which which_;
  std::unordered_set<const ExprNode*> seen_;
};

double BufferBytes(const Graph& graph, int buffer) {
  const Buffer& of = graph.buffers()[static_cast<std::size_t>(buffer)];
  return static_cast<double>(ElementCount(of.shape)) * static_cast<double>(Bytes(of.dtype));
}

Cost Work(const Graph& graph, const Stage& stage, double share, Which which) {
  Cost cost;
  // An element that a mask makes zero is no work. Of a choice each side is counted by itself.
  const std::vector<Expr> conditions = ZeroUnless(graph, stage.value);
  if (which != Which::kWritten && IsOfPlacesOutOfData(graph, conditions)) return cost;
  if (stage.value->kind != Expr::Kind::kSelect) share = std::min(share, ShareTrue(conditions));
  const auto elements =
      share * static_cast<double>(ElementCount(graph.buffers()[static_cast<std::size_t>(stage.buffer)].shape));
  if (elements > 0) Counter(graph, cost, stage.vars, which).Count(*stage.value, elements);
  return cost;
}

// Work and traffic of some stages as one: what they read from outside, and the buffers of `results`. `needed`: what is
// made of each buffer, all where it is empty.
Cost CostOf(const Graph& graph, const std::vector<std::size_t>& stages, const std::set<int>& results,
            const std::vector<Part>& needed = {}, Which which = Which::kWritten) {
  Cost cost;
  std::map<int, double> read;
  std::set<int> made;
  const Replaced replaced = needed.empty() ? Replaced() : ReplacedBy(graph, which);
  for (const auto s : stages) made.insert(graph.stages()[s].buffer);
  for (const auto s : stages) {
    const Stage& stage = graph.stages()[s];
    if (stage.reshape_of >= 0) continue;
    const Part made_of_it = needed.empty() ? Part::All() : needed[static_cast<std::size_t>(stage.buffer)];
    const Cost work = Work(graph, stage, made_of_it.share, which);
    cost.multiply_adds += work.multiply_adds;
    cost.wholes8 += work.wholes8;
    cost.reals8 += work.reals8;
    cost.arithmetic += work.arithmetic;
    cost.transcendental += work.transcendental;
    for (const auto& [loaded, part] : PartsRead(graph, stage, made_of_it, which, replaced.Of(stage.buffer))) {
      // Reading a view is reading what it is of.
      const int source = SourceOf(graph, loaded);
      if (made.count(source)) continue;
      auto& sum = read[source];
      sum = std::min(1.0, sum + part.share);
    }
  }
  for (const auto& [buffer, share] : read) cost.bytes_read += share * BufferBytes(graph, buffer);
  for (const int buffer : results) {
    const auto in_place = replaced.by_output.find(SourceOf(graph, buffer));
    cost.bytes_written += (in_place == replaced.by_output.end() ? 1 : in_place->second) * BufferBytes(graph, buffer);
  }
  return cost;
}

}  // namespace

Cost StageCost(const Graph& graph, std::size_t stage) { return CostOf(graph, {stage}, {graph.stages()[stage].buffer}); }

Cost NodeCost(const Graph& graph, int node) {
  std::vector<std::size_t> stages;
  std::set<int> made, results;
  for (std::size_t s = 0; s < graph.stages().size(); ++s) {
    if (graph.stages()[s].node != node) continue;
    stages.push_back(s);
    made.insert(graph.stages()[s].buffer);
  }
  const Node& call = graph.problem().nodes[static_cast<std::size_t>(node)];
  const auto& outputs = graph.node_outputs()[static_cast<std::size_t>(node)];
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const int source = SourceOf(graph, outputs[i]);
    if (!call.outputs[i].empty() && made.count(source)) results.insert(source);
  }
  return CostOf(graph, stages, results);
}

Cost GraphCost(const Graph& graph, Which which) {
  std::set<int> results;
  for (std::size_t o = 0; o < graph.problem().Outputs().size(); ++o) results.insert(graph.Output(o));
  std::vector<std::size_t> stages;
  const auto live = LiveStages(graph);
  for (std::size_t s = 0; s < live.size(); ++s) {
    if (live[s]) stages.push_back(s);
  }
  std::vector<Part> needed = PartsNeeded(graph, which);
  if (which == Which::kLeast) {
    // What hangs on parameters alone can be made of them before, and be smaller than they are.
    std::vector<bool> prepared(graph.buffers().size(), false);
    for (std::size_t b = 0; b < prepared.size(); ++b) {
      const Buffer& buffer = graph.buffers()[b];
      prepared[b] =
          buffer.stage < 0 && graph.problem().tensors[static_cast<std::size_t>(buffer.tensor)].role == Role::kParameter;
    }
    for (const Stage& stage : graph.stages()) {
      bool loads = false, all = stage.sequence < 0;
      Visit(stage.value, [&](const ExprNode& node) {
        if (node.kind != Expr::Kind::kLoad) return;
        loads = true;
        all = all && prepared[static_cast<std::size_t>(node.buffer)];
      });
      const auto made = static_cast<std::size_t>(stage.buffer);
      prepared[made] = loads && all;
      if (prepared[made]) needed[made] = Part{};
    }
  }
  Cost cost = CostOf(graph, stages, results, needed, which);
  // An output that is a view of an input has to be copied.
  for (const int buffer : results) {
    const int source = SourceOf(graph, buffer);
    if (source != buffer && graph.buffers()[static_cast<std::size_t>(source)].stage < 0)
      cost.bytes_read += BufferBytes(graph, buffer);
  }
  return cost;
}

}  // namespace hone
