#include "expr/ranked_fold.h"

namespace hone {

Expr ComesBefore(const Expr& a, const Expr& b, bool descending) {
  const Expr less = descending ? Less(b, a) : Less(a, b);
  if (a->type != ScalarType::kReal) return less;
  const Expr a_nan = Apply(UnaryOp::kIsNan, a), b_nan = Apply(UnaryOp::kIsNan, b);
  return Apply(BinaryOp::kOr, less,
               descending ? And(a_nan, Apply(UnaryOp::kNot, b_nan)) : And(b_nan, Apply(UnaryOp::kNot, a_nan)));
}

Expr ComesFirst(const Expr& k, const Expr& at_k, const Expr& j, const Expr& at_j, bool descending) {
  return Select(Less(k, j), Apply(UnaryOp::kNot, ComesBefore(at_j, at_k, descending)),
                ComesBefore(at_k, at_j, descending));
}

std::optional<RankedFold> RankedFoldOf(const ExprNode& fold) {
  if (fold.kind != Expr::Kind::kReduce || fold.reduce != ReduceOp::kSum || fold.over.size() != 1) return std::nullopt;
  const IndexVar k = fold.over[0];
  Expr first = fold.operands[0];
  if (first->kind != Expr::Kind::kCast || first->type != ScalarType::kInt) return std::nullopt;
  first = first->operands[0];
  if (first->kind != Expr::Kind::kSelect) return std::nullopt;
  const Expr& smaller = first->operands[0];
  if (smaller->kind != Expr::Kind::kBinary || smaller->binary != BinaryOp::kLess ||
      smaller->operands[0]->kind != Expr::Kind::kIndex || smaller->operands[0]->index.id != k.id ||
      smaller->operands[1]->kind != Expr::Kind::kIndex)
    return std::nullopt;
  const IndexVar j = smaller->operands[1]->index;
  if (j.extent != k.extent) return std::nullopt;
  // Which of the two that are compared is at j, where the element at k is the larger one.
  Expr less = first->operands[2];
  if (less->kind == Expr::Kind::kBinary && less->binary == BinaryOp::kOr) less = less->operands[0];
  if (less->kind != Expr::Kind::kBinary || less->binary != BinaryOp::kLess) return std::nullopt;
  const bool descending = UsesIndex(less->operands[0], j.id);
  const Expr &at_k = less->operands[descending ? 1 : 0], &at_j = less->operands[descending ? 0 : 1];
  if (UsesIndex(at_j, k.id) || UsesIndex(at_k, j.id) || HasReduce(at_j)) return std::nullopt;
  const Expr moved = Substitute(at_j, [&](const IndexVar& var) { return var.id == j.id ? Expr(k) : Expr(); });
  if (!SameExpr(moved, at_k) || !SameExpr(first, ComesFirst(Expr(k), at_k, Expr(j), at_j, descending)))
    return std::nullopt;
  return RankedFold{j, at_j, descending};
}

}  // namespace hone
