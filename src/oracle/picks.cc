#include "oracle/picks.h"

#include <limits>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"
#include "graph/op.h"

namespace hone {
namespace {

constexpr int kStepsAtMost = 8;  // back from an output to what picks its places
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// `e` with one of its nodes replaced.
Expr Replaced(const Expr& e, const ExprNode* node, const Expr& with, ExprMemo& memo) {
  if (e.get() == node) return with;
  return memo.Do(e, [&](const Expr& one) {
    std::vector<Expr> operands;
    for (const Expr& operand : one->operands) operands.push_back(Replaced(operand, node, with, memo));
    return WithOperands(one, std::move(operands));
  });
}

Expr AtIndices(const Stage& stage, const Expr& value, const std::vector<Expr>& indices) {
  return Substitute(value, [&](const IndexVar& var) -> Expr {
    for (std::size_t d = 0; d < stage.vars.size(); ++d) {
      if (stage.vars[d].id == var.id) return indices[d];
    }
    return {};
  });
}

const Stage* MakerOf(const Graph& graph, int buffer) {
  const int stage = graph.buffers()[static_cast<std::size_t>(buffer)].stage;
  return stage < 0 ? nullptr : &graph.stages()[static_cast<std::size_t>(stage)];
}

// How far the value at the place `given` is from the best, where `places` says what a fold found.
Expr OfExtreme(const Expr& places, const ExprNode& fold, const Expr& given) {
  Shape extents;
  std::vector<Expr> at;
  for (const IndexVar& var : fold.over) {
    extents.push_back(var.extent);
    at.emplace_back(var);
  }
  ExprMemo memo;
  const Expr here = Equal(Replaced(places, &fold, Flatten(at, extents), memo), given);
  const bool largest = fold.reduce == ReduceOp::kArgMax;
  const ReduceOp op = largest ? ReduceOp::kMax : ReduceOp::kMin;
  const Expr& value = fold.operands[0];
  const Expr best = Reduce(op, fold.over, value);
  const Expr own = Reduce(op, fold.over, Select(here, value, largest ? -kInfinity : kInfinity));
  return Select(Reduce(ReduceOp::kAny, fold.over, here), own - best, kInfinity);
}

// The value by which a stage ranks its elements, as order.cc counts how many come before one; nothing elsewhere.
Expr RankedValue(const Stage& rank) {
  Expr found;
  const auto& value = rank.value;
  if (value->kind != Expr::Kind::kReduce || value->reduce != ReduceOp::kSum || value->over.size() != 1) return found;
  Visit(value->operands[0], [&](const ExprNode& node) {
    if (node.kind != Expr::Kind::kBinary || node.binary != BinaryOp::kLess) return;
    for (const Expr& side : node.operands) {
      if (side->type == ScalarType::kReal && !UsesIndex(side, value->over[0].id)) found = side;
    }
  });
  return found;
}

// The same of a place in an order: the sum of k over those whose rank is the wanted one.
Expr OfOrder(const Graph& graph, const Expr& places, const Expr& given, const Expr& expected) {
  if (places->kind != Expr::Kind::kReduce || places->reduce != ReduceOp::kSum || places->over.size() != 1) return {};
  const IndexVar& k = places->over[0];
  const ExprNode& term = *places->operands[0];
  if (term.kind != Expr::Kind::kSelect || term.operands[1]->kind != Expr::Kind::kIndex ||
      term.operands[1]->index.id != k.id || term.operands[0]->kind != Expr::Kind::kBinary ||
      term.operands[0]->binary != BinaryOp::kEqual || term.operands[0]->operands[0]->kind != Expr::Kind::kLoad)
    return {};
  const ExprNode& load = *term.operands[0]->operands[0];
  const Stage* rank = MakerOf(graph, load.buffer);
  const Expr value = rank ? RankedValue(*rank) : Expr();
  if (!value) return {};
  const auto at = [&](const Expr& place) {
    std::vector<Expr> indices;
    for (const Expr& index : load.operands)
      indices.push_back(Substitute(index, [&](const IndexVar& var) { return var.id == k.id ? place : Expr(); }));
    return AtIndices(*rank, value, indices);
  };
  return Select(And(LessEqual(0, given), Less(given, k.extent)), at(given) - at(expected), kInfinity);
}

}  // namespace

bool IsOfScan(const Graph& graph, std::size_t output) {
  const Stage* stage = MakerOf(graph, graph.Output(output));
  if (!stage) return false;
  bool scan = stage->sequence >= 0;
  Visit(stage->value, [&](const ExprNode& node) {
    const Stage* from = node.kind == Expr::Kind::kLoad ? MakerOf(graph, node.buffer) : nullptr;
    scan = scan || (from && from->sequence >= 0 && node.type == ScalarType::kInt);
  });
  return scan;
}

std::optional<Graph> WithPicks(const Graph& graph, std::size_t output) {
  const int buffer = graph.Output(output);
  const Stage* stage = MakerOf(graph, buffer);
  const Buffer made = graph.buffers()[static_cast<std::size_t>(buffer)];
  if (!stage || stage->sequence >= 0 || ScalarTypeOf(made.dtype) != ScalarType::kInt) return std::nullopt;
  GraphBuilder builder(graph);
  builder.DropOutputs();
  const int given = builder.AddInput({.name = "hone_given", .shape = made.shape, .dtype = made.dtype});
  const int expected = builder.AddInput({.name = "hone_expected", .shape = made.shape, .dtype = DType::kF64});
  const std::vector<Expr> own(stage->vars.begin(), stage->vars.end());
  const Expr given_place = Load(given, own, ScalarType::kInt);
  const Expr expected_place = Cast(Load(expected, own, ScalarType::kReal), ScalarType::kInt);
  Expr places = stage->value, value;
  for (int step = 0; step < kStepsAtMost && !value; ++step) {
    std::vector<const ExprNode*> folds;
    Visit(places, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kReduce && IsArg(node.reduce)) folds.push_back(&node);
    });
    if (folds.size() > 1) return std::nullopt;
    if (folds.size() == 1) {
      if (folds[0]->operands[0]->type != ScalarType::kReal) return std::nullopt;
      value = OfExtreme(places, *folds[0], given_place);
      break;
    }
    value = OfOrder(graph, places, given_place, expected_place);
    if (value) break;
    bool followed = false;
    places = ReplaceLoads(places, [&](const ExprNode& load) -> Expr {
      const Stage* from = MakerOf(graph, load.buffer);
      if (load.type != ScalarType::kInt || !from || from->sequence >= 0) return {};
      followed = true;
      return AtIndices(*from, from->value, load.operands);
    });
    if (!followed) return std::nullopt;
  }
  if (!value) return std::nullopt;
  builder.AddOutput({.name = "hone_distance", .shape = made.shape, .dtype = DType::kF32, .role = Role::kOutput},
                    stage->vars, value);
  return builder.Take();
}

}  // namespace hone
