#include "expr/ranged_fold.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "expr/fold.h"

namespace hone {
namespace {

// Of a condition that bounds the index: the first place at which it holds, or the first one at which it does not any
// more.
struct Bound {
  Expr at;
  bool is_begin = true;
};

std::optional<Bound> BoundOf(const Expr& condition, const IndexVar& index) {
  const bool less = IsBinary(condition, BinaryOp::kLess);
  if (!less && !IsBinary(condition, BinaryOp::kLessEqual)) return std::nullopt;
  const Expr &left = condition->operands[0], &right = condition->operands[1];
  const auto is_index = [&](const Expr& e) { return e->kind == Expr::Kind::kIndex && e->index.id == index.id; };
  if (left->type != ScalarType::kInt || right->type != ScalarType::kInt) return std::nullopt;
  if (is_index(right)) return Bound{less ? left + Expr(1) : left, true};
  if (is_index(left)) return Bound{less ? right : right + Expr(1), false};
  return std::nullopt;
}

}  // namespace

std::optional<RangedFold> RangedFoldOf(const ExprNode& fold) {
  if (fold.kind != Expr::Kind::kReduce || IsArg(fold.reduce)) return std::nullopt;
  const Expr& body = fold.operands[0];
  if (body->kind != Expr::Kind::kSelect || ConstantNumber(body->operands[2]) != IdentityOf(fold.reduce))
    return std::nullopt;
  const std::vector<Expr> conditions = Conjuncts(body->operands[0]);
  for (const IndexVar& index : fold.over) {
    RangedFold ranged{.index = index, .begin = std::int64_t{0}, .end = index.extent, .body = {}};
    Expr left = Expr::Bool(true);
    bool of_data = false;
    for (const Expr& condition : conditions) {
      const auto bound = BoundOf(condition, index);
      const bool is_known = bound && !HasReduce(bound->at) && std::ranges::none_of(fold.over, [&](const IndexVar& var) {
                              return UsesIndex(bound->at, var.id);
                            });
      if (!is_known) {
        left = And(std::move(left), condition);
        continue;
      }
      of_data |= HasLoad(bound->at);
      Expr& edge = bound->is_begin ? ranged.begin : ranged.end;
      edge = bound->is_begin ? Max(edge, bound->at) : Min(edge, bound->at);
    }
    if (!of_data) continue;
    ranged.begin = Min(ranged.begin, Expr(index.extent));
    ranged.body = Select(std::move(left), body->operands[1], body->operands[2]);
    return ranged;
  }
  return std::nullopt;
}

double Segments(const RangedFold& fold) {
  std::int64_t segments = 1;
  Visit(fold.end, [&](const ExprNode& node) {
    if (node.kind == Expr::Kind::kIndex && !UsesIndex(fold.body, node.index.id))
      segments = std::max(segments, node.index.extent);
  });
  return static_cast<double>(segments);
}

}  // namespace hone
