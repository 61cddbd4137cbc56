#include "oracle/fold_range.h"

#include <utility>

namespace hone {
namespace {

bool IsSum(const ExprNode& e) {
  return e.kind == Expr::Kind::kReduce && e.reduce == ReduceOp::kSum && e.type == ScalarType::kReal;
}
bool IsProduct(const Expr& e) {
  return e->kind == Expr::Kind::kBinary && e->binary == BinaryOp::kMul && e->type == ScalarType::kReal;
}
// Select(condition, something, 0)
bool IsGuarded(const Expr& e) {
  return e->kind == Expr::Kind::kSelect && e->operands[2]->kind == Expr::Kind::kConst && e->type == ScalarType::kReal &&
         e->operands[2]->real == 0;
}

// What has to hold for a term not to be zero, or nothing. A product's factors have to agree: zero times infinity is
// not.
Expr ConditionOf(const Expr& term) {
  if (IsGuarded(term)) return term->operands[0];
  if (!IsProduct(term) || !IsGuarded(term->operands[0]) || !IsGuarded(term->operands[1])) return {};
  const Expr &one = term->operands[0]->operands[0], &other = term->operands[1]->operands[0];
  return one.get() == other.get() ? one : Expr();
}

struct RangeFinder {
  const IndexVar& var;
  FoldRange range;

  bool IsVar(const Expr& e) const { return e->kind == Expr::Kind::kIndex && e->index.id == var.id; }
  bool IsBound(const Expr& e) const { return e->type == ScalarType::kInt && !UsesIndex(e, var.id); }

  void Take(const Expr& condition) {
    if (condition->kind != Expr::Kind::kBinary) return;
    const Expr &a = condition->operands[0], &b = condition->operands[1];
    if (condition->binary == BinaryOp::kAnd && condition->type == ScalarType::kBool) {
      Take(a);
      Take(b);
      return;
    }
    const bool or_equal = condition->binary == BinaryOp::kLessEqual;
    if (!or_equal && condition->binary != BinaryOp::kLess) return;
    if (IsVar(b) && IsBound(a)) {
      const Expr begin = or_equal ? a : a + 1;
      range.begin = range.begin ? Max(range.begin, begin) : begin;
    } else if (IsVar(a) && IsBound(b)) {
      const Expr end = or_equal ? b + 1 : b;
      range.end = range.end ? Min(range.end, end) : end;
    }
  }
};

}  // namespace

std::optional<FoldRange> RangeOf(const ExprNode& fold, const std::function<bool(const Expr&)>& exact) {
  if (!IsSum(fold) || fold.over.size() != 1) return std::nullopt;
  const Expr condition = ConditionOf(fold.operands[0]);
  if (!condition || HasReduce(condition) || !exact(condition)) return std::nullopt;
  RangeFinder finder{fold.over[0], {}};
  finder.Take(condition);
  if (!finder.range.begin && !finder.range.end) return std::nullopt;
  return finder.range;
}

Expr WithGuardedFactors(const Expr& value, const std::function<bool(const Expr&)>& exact) {
  ExprMemo memo;
  const auto rewrite = [&](const auto& self, const Expr& e) -> Expr {
    return memo.Do(e, [&](const Expr& node) -> Expr {
      if (node->operands.empty()) return node;
      std::vector<Expr> operands;
      bool changed = false;
      for (const auto& operand : node->operands) {
        operands.push_back(self(self, operand));
        changed = changed || operands.back().get() != operand.get();
      }
      const Expr& term = operands[0];
      if (IsSum(*node) && IsGuarded(term) && IsProduct(term->operands[1]) && exact(term->operands[0])) {
        const Expr &condition = term->operands[0], &a = term->operands[1]->operands[0],
                   &b = term->operands[1]->operands[1];
        if (a.get() != b.get()) return WithOperands(node, {Select(condition, a, 0.0) * Select(condition, b, 0.0)});
      }
      return changed ? WithOperands(node, std::move(operands)) : node;
    });
  };
  return HasReduce(value) ? rewrite(rewrite, value) : value;
}

}  // namespace hone
