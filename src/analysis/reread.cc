#include "analysis/reread.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace hone {
namespace {

using Kind = Expr::Kind;

// Whether a change of the argument is a change of the result, but at some points.
bool KeepsApart(UnaryOp op) {
  switch (op) {
    case UnaryOp::kSign:
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kTrunc:
    case UnaryOp::kRound:
    case UnaryOp::kIsNan:
    case UnaryOp::kNot: return false;
    default: return true;
  }
}
bool KeepsApart(BinaryOp op) {
  return op == BinaryOp::kAdd || op == BinaryOp::kSub || op == BinaryOp::kMul || op == BinaryOp::kDiv;
}

// What an element of an output hangs on through arithmetic alone.
class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph) {}

  void Follow(int buffer, bool own) {
    if (!seen_.emplace(buffer, own).second) return;
    const int stage = graph_.buffers()[static_cast<std::size_t>(buffer)].stage;
    if (stage < 0) {
      if (own) at_own_place.insert(buffer);
      return;
    }
    const Stage& made = graph_.stages()[static_cast<std::size_t>(stage)];
    if (made.sequence < 0) Walk(made.value, made.vars, own);
  }

  std::set<int> at_own_place;         // inputs, whose element is the one at the output's place
  std::map<int, std::int64_t> under;  // inputs: how many of their elements one sum is of, each element in one sum

 private:
  void Walk(const Expr& e, const std::vector<IndexVar>& vars, bool own) {
    if (e->type != ScalarType::kReal) return;
    switch (e->kind) {
      case Kind::kUnary:
        if (KeepsApart(e->unary)) Walk(e->operands[0], vars, own);
        break;
      case Kind::kBinary:
        if (!KeepsApart(e->binary)) break;
        Walk(e->operands[0], vars, own);
        Walk(e->operands[1], vars, own);
        break;
      case Kind::kLoad: Load(*e, vars, own); break;
      case Kind::kReduce:
        if (e->reduce == ReduceOp::kSum) Sum(e->operands[0], e->over, vars);
        break;
      default: break;
    }
  }

  void Load(const ExprNode& load, const std::vector<IndexVar>& vars, bool own) {
    const Buffer& from = graph_.buffers()[static_cast<std::size_t>(load.buffer)];
    bool plain = true, same = load.operands.size() == vars.size();
    for (std::size_t d = 0; d < load.operands.size(); ++d) {
      const Expr& index = load.operands[d];
      plain &= index->kind == Kind::kIndex || index->kind == Kind::kConst;
      same = same && index->kind == Kind::kIndex && index->index.id == vars[d].id && from.shape[d] == vars[d].extent;
    }
    if (plain) Follow(load.buffer, own && same);
  }

  // The inputs in a sum's terms, each element of which is in one sum.
  void Sum(const Expr& term, const std::vector<IndexVar>& over, const std::vector<IndexVar>& vars) {
    if (term->type != ScalarType::kReal) return;
    if ((term->kind == Kind::kUnary && KeepsApart(term->unary)) ||
        (term->kind == Kind::kBinary && KeepsApart(term->binary))) {
      for (const auto& operand : term->operands) Sum(operand, over, vars);
      return;
    }
    if (term->kind != Kind::kLoad) return;
    const Buffer& from = graph_.buffers()[static_cast<std::size_t>(term->buffer)];
    if (from.stage >= 0) return;
    std::set<int> ids;
    for (std::size_t d = 0; d < term->operands.size(); ++d) {
      const Expr& index = term->operands[d];
      if (index->kind != Kind::kIndex || index->index.extent != from.shape[d]) return;
      ids.insert(index->index.id);
    }
    if (ids.size() != term->operands.size()) return;
    std::int64_t count = 1;
    for (const auto& var : over) {
      if (!ids.contains(var.id)) return;
      count *= var.extent;
    }
    auto& most = under[term->buffer];
    most = std::max(most, count);
  }

  const Graph& graph_;
  std::set<std::pair<int, bool>> seen_;
};

}  // namespace

double RereadBytes(const Graph& graph, double kept_bytes) {
  std::map<int, double> again;
  for (std::size_t o = 0; o < graph.problem().Outputs().size(); ++o) {
    Finder finder(graph);
    finder.Follow(SourceOf(graph, graph.Output(o)), true);
    for (const auto& [input, count] : finder.under) {
      if (!finder.at_own_place.contains(input) || count == 0) continue;
      const Buffer& tensor = graph.buffers()[static_cast<std::size_t>(input)];
      const auto element = static_cast<double>(Bytes(tensor.dtype)), of_sum = static_cast<double>(count);
      const double sums = static_cast<double>(ElementCount(tensor.shape)) / of_sum;
      again[input] = std::max(again[input], sums * std::max(of_sum * element - kept_bytes, 0.0));
    }
  }
  double bytes = 0;
  for (const auto& [input, more] : again) bytes += more;
  return bytes;
}

}  // namespace hone
