#include "oracle/picks.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "expr/ranked_fold.h"
#include "graph/graph_builder.h"
#include "graph/op.h"

namespace hone {
namespace {

constexpr int kStepsAtMost = 8;  // back from an output to what picks its places
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Expr Or(const Expr& a, const Expr& b) { return Apply(BinaryOp::kOr, a, b); }

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

// 0 of equals, two NaNs among them; of whole numbers, which may be too large for a real, else the sign.
Expr Difference(const Expr& a, const Expr& b) {
  if (a->type != ScalarType::kReal) return Select(Equal(a, b), 0.0, Select(Less(a, b), -1.0, 1.0));
  const Expr a_is_nan = Apply(UnaryOp::kIsNan, a), b_is_nan = Apply(UnaryOp::kIsNan, b);
  return Select(Or(a_is_nan, b_is_nan), Select(And(a_is_nan, b_is_nan), 0.0, kInfinity),
                Select(Equal(a, b), 0.0, a - b));
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
  return Select(Reduce(ReduceOp::kAny, fold.over, here), Difference(own, best), kInfinity);
}

// Whether the place `given` is given more than once in its row: for other values of the output's indices by which
// `wanted`, the place in order, is told, and what is sorted, at `sorted`, is not. It has `count` places.
Expr IsRepeated(GraphBuilder& builder, const Stage& output, const Expr& wanted, const std::vector<Expr>& sorted,
                std::int64_t count, int given) {
  std::vector<IndexVar> row, vars;
  std::vector<Expr> at, own;
  for (const IndexVar& var : output.vars) {
    const auto uses = [&](const Expr& e) { return UsesIndex(e, var.id); };
    const bool along = uses(wanted) && std::none_of(sorted.begin(), sorted.end(), uses);
    const IndexVar fresh = NewIndex(var.extent);
    (along ? row : vars).push_back(fresh);
    at.emplace_back(fresh);
    if (!along) own.emplace_back(var);
  }
  if (row.empty()) return Expr::Bool(false);
  vars.push_back(NewIndex(count));
  const Expr here = Equal(Load(given, at, ScalarType::kInt), vars.back());
  Shape shape;
  for (const IndexVar& var : vars) shape.push_back(var.extent);
  const Expr times = Reduce(ReduceOp::kSum, row, Cast(here, ScalarType::kInt));
  const int counts = builder.AddStage("hone_times", shape, DType::kI64, -1, vars, times);
  own.push_back(Load(given, {output.vars.begin(), output.vars.end()}, ScalarType::kInt));
  return Less(1, Load(counts, own, ScalarType::kInt));
}

// The same of a place in an order: the sum of k over those whose rank is the wanted one.
Expr OfOrder(GraphBuilder& builder, const Graph& graph, const Stage& output, const Expr& places, int given_buffer,
             const Expr& given, const Expr& expected) {
  if (places->kind != Expr::Kind::kReduce || places->reduce != ReduceOp::kSum || places->over.size() != 1) return {};
  const IndexVar& k = places->over[0];
  const ExprNode& term = *places->operands[0];
  if (term.kind != Expr::Kind::kSelect || term.operands[1]->kind != Expr::Kind::kIndex ||
      term.operands[1]->index.id != k.id || term.operands[0]->kind != Expr::Kind::kBinary ||
      term.operands[0]->binary != BinaryOp::kEqual || term.operands[0]->operands[0]->kind != Expr::Kind::kLoad)
    return {};
  const ExprNode& load = *term.operands[0]->operands[0];
  const Expr& wanted = term.operands[0]->operands[1];
  const Stage* rank = MakerOf(graph, load.buffer);
  const auto ranked = rank ? RankedFoldOf(*rank->value) : std::nullopt;
  if (!ranked) return {};
  const auto at = [&](const Expr& place) {
    std::vector<Expr> indices;
    for (const Expr& index : load.operands)
      indices.push_back(Substitute(index, [&](const IndexVar& var) { return var.id == k.id ? place : Expr(); }));
    return AtIndices(*rank, ranked->element, indices);
  };
  const Expr repeated = IsRepeated(builder, output, wanted, load.operands, k.extent, given_buffer);
  const Expr is_place = And(And(LessEqual(0, given), Less(given, k.extent)), Apply(UnaryOp::kNot, repeated));
  return Select(is_place, Difference(at(given), at(expected)), kInfinity);
}

// How far from what is expected the value at a given place is, and which of equals is.
struct FoundPicks {
  Expr distance;
  OfEquals of_equals = OfEquals::kExpected;
};

class PicksFinder {
 public:
  PicksFinder(const Graph& graph, const Stage& output, GraphBuilder& builder, int given, int expected)
      : graph_(graph), output_(output), builder_(builder), given_(given) {
    const std::vector<Expr> own(output.vars.begin(), output.vars.end());
    given_place_ = Load(given, own, ScalarType::kInt);
    expected_place_ = Cast(Load(expected, own, ScalarType::kReal), ScalarType::kInt);
  }

  // From `places`, which stages have made that say `of_equals`, back to what picks them.
  std::optional<FoundPicks> Find(const Expr& places, OfEquals of_equals, int steps) const {
    if (places->kind == Expr::Kind::kSelect) {
      const auto then = Find(places->operands[1], of_equals, steps);
      const auto otherwise = then ? Find(places->operands[2], of_equals, steps) : std::nullopt;
      if (otherwise)
        return FoundPicks{Select(places->operands[0], then->distance, otherwise->distance),
                          then->of_equals == otherwise->of_equals ? then->of_equals : OfEquals::kExpected};
    }
    std::vector<const ExprNode*> folds;
    Visit(places, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kReduce && IsArg(node.reduce)) folds.push_back(&node);
    });
    if (folds.size() > 1) return std::nullopt;
    if (folds.size() == 1) {
      if (folds[0]->operands[0]->type != ScalarType::kReal) return std::nullopt;
      return FoundPicks{OfExtreme(places, *folds[0], given_place_), of_equals};
    }
    if (Expr distance = OfOrder(builder_, graph_, output_, places, given_, given_place_, expected_place_))
      return FoundPicks{std::move(distance), of_equals};
    bool followed = false, any = true;
    const Expr made = ReplaceLoads(places, [&](const ExprNode& load) -> Expr {
      const Stage* from = MakerOf(graph_, load.buffer);
      if (load.type != ScalarType::kInt || !from || from->sequence >= 0) return {};
      followed = true;
      any = any && from->any_of_equals;
      return AtIndices(*from, from->value, load.operands);
    });
    if (!followed || steps == 0) return std::nullopt;
    return Find(made, any ? OfEquals::kAny : OfEquals::kExpected, steps - 1);
  }

 private:
  const Graph& graph_;
  const Stage& output_;
  GraphBuilder& builder_;
  int given_;
  Expr given_place_, expected_place_;
};

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

std::optional<Picks> WithPicks(const Graph& graph, std::size_t output) {
  const int buffer = graph.Output(output);
  const Stage* stage = MakerOf(graph, buffer);
  const Buffer made = graph.buffers()[static_cast<std::size_t>(buffer)];
  if (!stage || stage->sequence >= 0 || ScalarTypeOf(made.dtype) != ScalarType::kInt) return std::nullopt;
  GraphBuilder builder(graph);
  builder.DropOutputs();
  const int given = builder.AddInput({.name = "hone_given", .shape = made.shape, .dtype = made.dtype});
  const int expected = builder.AddInput({.name = "hone_expected", .shape = made.shape, .dtype = DType::kF64});
  const OfEquals of_equals = stage->any_of_equals ? OfEquals::kAny : OfEquals::kExpected;
  const auto found = PicksFinder(graph, *stage, builder, given, expected).Find(stage->value, of_equals, kStepsAtMost);
  if (!found) return std::nullopt;
  builder.AddOutput({.name = "hone_distance", .shape = made.shape, .dtype = DType::kF32, .role = Role::kOutput},
                    stage->vars, found->distance);
  return Picks{builder.Take(), found->of_equals};
}

}  // namespace hone
