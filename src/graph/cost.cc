#include "graph/cost.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <vector>

#include "graph/fold.h"

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

bool IsRealProduct(const ExprNode& node) {
  return node.kind == Expr::Kind::kBinary && node.binary == BinaryOp::kMul && node.type == ScalarType::kReal;
}

// Of a reduction's terms, the share that is not left out: where a window reaches over the edge, or a transposed
// convolution falls between two elements, there is nothing to add.
double ShareOfTerms(const ExprNode& reduce) {
  const Expr& term = reduce.operands[0];
  std::vector<Expr> conditions;
  const auto keep = [&](const Expr& e, double otherwise) {
    if (e->kind != Expr::Kind::kSelect || e->operands[2]->kind != Expr::Kind::kConst) return;
    if (NumberOf(*e->operands[2]) == otherwise) conditions.push_back(e->operands[0]);
  };
  keep(term, IdentityOf(reduce.reduce));
  if (reduce.reduce == ReduceOp::kSum && IsRealProduct(*term)) {
    for (const auto& factor : term->operands) keep(factor, 0);
  }
  return ShareTrue(conditions);
}

// Counts the work of one element; work inside a reduction is done once a term.
class Counter {
 public:
  explicit Counter(Cost& cost) : cost_(cost) {}

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
      default: break;
    }
    for (const auto& operand : node.operands) Count(*operand, times);
  }

 private:
  void CountReduce(const ExprNode& node, double times) {
    for (const auto& var : node.over) times *= static_cast<double>(var.extent);
    times *= ShareOfTerms(node);
    const ExprNode& term = *node.operands[0];
    if (node.reduce == ReduceOp::kSum && IsRealProduct(term)) {
      cost_.multiply_adds += times;
      for (const auto& operand : term.operands) Count(*operand, times);
      return;
    }
    if (term.type == ScalarType::kReal) cost_.arithmetic += times;
    Count(term, times);
  }

  Cost& cost_;
  std::unordered_set<const ExprNode*> seen_;
};

// Elements of each buffer that a stage reads: no more than there are, nor than the indices of its loads can name.
std::map<int, double> Touched(const Graph& graph, const Stage& stage) {
  std::map<int, double> touched;
  Visit(stage.value, [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kLoad) return;
    std::map<int, std::int64_t> vars;
    for (const auto& index : node.operands) {
      // An index out of data is loaded at these indices too: it picks no more elements than there are picks.
      Visit(index, [&](const ExprNode& part) {
        if (part.kind == Expr::Kind::kIndex) vars[part.index.id] = part.index.extent;
      });
    }
    double count = 1;
    for (const auto& [id, extent] : vars) count *= static_cast<double>(extent);
    const auto all = static_cast<double>(ElementCount(graph.buffers()[static_cast<std::size_t>(node.buffer)].shape));
    auto& sum = touched[node.buffer];
    sum = std::min(all, sum + count);
  });
  return touched;
}

double ElementBytes(const Graph& graph, int buffer) {
  return static_cast<double>(Bytes(graph.buffers()[static_cast<std::size_t>(buffer)].dtype));
}

double BufferBytes(const Graph& graph, int buffer) {
  return static_cast<double>(ElementCount(graph.buffers()[static_cast<std::size_t>(buffer)].shape)) *
         ElementBytes(graph, buffer);
}

Cost Work(const Graph& graph, const Stage& stage) {
  Cost cost;
  const auto elements =
      static_cast<double>(ElementCount(graph.buffers()[static_cast<std::size_t>(stage.buffer)].shape));
  if (elements > 0) Counter(cost).Count(*stage.value, elements);
  return cost;
}

// Work and traffic of some stages as one: what they read from outside, and the buffers of `results`.
Cost CostOf(const Graph& graph, const std::vector<std::size_t>& stages, const std::set<int>& results) {
  Cost cost;
  std::map<int, double> read;
  std::set<int> made;
  for (const auto s : stages) made.insert(graph.stages()[s].buffer);
  for (const auto s : stages) {
    const Stage& stage = graph.stages()[s];
    if (stage.reshape_of >= 0) continue;
    const Cost work = Work(graph, stage);
    cost.multiply_adds += work.multiply_adds;
    cost.arithmetic += work.arithmetic;
    cost.transcendental += work.transcendental;
    for (const auto& [buffer, count] : Touched(graph, stage)) {
      // Reading a view is reading what it is of.
      const int source = SourceOf(graph, buffer);
      if (made.count(source)) continue;
      auto& sum = read[source];
      sum = std::min(static_cast<double>(ElementCount(graph.buffers()[static_cast<std::size_t>(source)].shape)),
                     sum + count);
    }
  }
  for (const auto& [buffer, count] : read) cost.bytes_read += count * ElementBytes(graph, buffer);
  for (const int buffer : results) cost.bytes_written += BufferBytes(graph, buffer);
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

Cost GraphCost(const Graph& graph) {
  std::set<int> results;
  for (std::size_t o = 0; o < graph.problem().Outputs().size(); ++o) results.insert(graph.Output(o));
  std::vector<std::size_t> stages;
  const auto live = LiveStages(graph);
  for (std::size_t s = 0; s < live.size(); ++s) {
    if (live[s]) stages.push_back(s);
  }
  Cost cost = CostOf(graph, stages, results);
  // An output that is a view of an input has to be copied.
  for (const int buffer : results) {
    const int source = SourceOf(graph, buffer);
    if (source != buffer && graph.buffers()[static_cast<std::size_t>(source)].stage < 0)
      cost.bytes_read += BufferBytes(graph, buffer);
  }
  return cost;
}

}  // namespace hone
