#include "propose/expert/one_place.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "expr/fold.h"
#include "propose/expert/normalise.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

// The value of `var` for which the condition, an equality of sums of indices, holds, if it holds for one within its
// extent wherever the others are.
std::optional<Expr> PlaceOf(const Expr& condition, const IndexVar& var) {
  if (!IsBinary(condition, BinaryOp::kEqual)) return std::nullopt;
  const auto left = AffineOf(condition->operands[0]), right = AffineOf(condition->operands[1]);
  if (!left || !right) return std::nullopt;
  Affine rest = Combine(*left, *right, -1);
  const std::int64_t factor = rest.of(var);
  if (factor != 1 && factor != -1) return std::nullopt;
  rest.coefficient.erase(var.id);
  const Affine place = Combine({}, rest, -factor);
  const auto vars = VarsOf(condition);
  const WholeRange range = RangeOf(place, vars);
  if (range.low < 0 || range.high >= var.extent) return std::nullopt;
  return ToExpr(place, vars);
}

Expr AllOf(const std::vector<Expr>& conditions) {
  Expr all = Expr::Bool(true);
  for (const Expr& one : conditions) all = And(std::move(all), one);
  return all;
}

// What a fold comes to whose terms are all `neutral` but for one, `term`, that is `value` or neutral, too.
std::optional<Expr> BesideNeutral(ReduceOp op, const Expr& term, const Expr& value, const Expr& neutral) {
  if (ConstantNumber(neutral) == IdentityOf(op)) return term;
  if (op != ReduceOp::kMax || neutral->type != ScalarType::kInt) return std::nullopt;
  const auto chosen = AffineOf(value);
  const bool never_less = chosen && RangeOf(*chosen, VarsOf(value)).low >= neutral->whole;
  return never_less ? term : Max(term, neutral);
}

std::optional<Piece> WithoutOneIndex(const Piece& piece) {
  const Fold& fold = *piece.fold;
  if (IsArg(fold.op) || fold.body->kind != Expr::Kind::kSelect || !IsConst(fold.body->operands[2])) return std::nullopt;
  const std::vector<Expr> conditions = Conjuncts(fold.body->operands[0]);
  for (const IndexVar& var : fold.over) {
    if (var.extent < 2) continue;  // there are no other terms
    for (std::size_t c = 0; c < conditions.size(); ++c) {
      const auto place = PlaceOf(conditions[c], var);
      if (!place) continue;
      auto left = conditions;
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(c));
      const auto at_place = [&](const Expr& e) {
        return Simplify(Substitute(e, [&](const IndexVar& other) { return other.id == var.id ? *place : Expr(); }));
      };
      const Expr neutral = fold.body->operands[2], value = at_place(fold.body->operands[1]);
      const auto folded = BesideNeutral(fold.op, Select(at_place(AllOf(left)), value, neutral), value, neutral);
      if (!folded) continue;
      Piece made = piece;
      std::erase_if(made.fold->over, [&](const IndexVar& other) { return other.id == var.id; });
      made.fold->body = *folded;
      return made;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Piece> AtOnePlace(const Piece& piece) {
  if (!piece.fold || !piece.inside.empty() || !piece.statistics.empty() || !piece.also.empty()) return std::nullopt;
  auto made = WithoutOneIndex(piece);
  while (made && !made->fold->over.empty()) {
    auto less = WithoutOneIndex(*made);
    if (!less) return made;
    made = std::move(less);
  }
  if (!made) return std::nullopt;
  made->value = ReplaceValue(made->fold->finish, kIt, made->fold->body);
  made->fold.reset();
  return made;
}

namespace {

// Whether a comparison holds for all that its sides may be: nothing where it does for some.
std::optional<bool> Decided(const Expr& comparison) {
  const Expr simple = Simplify(comparison);
  return IsConst(simple) && simple->type == ScalarType::kBool ? std::optional(simple->whole != 0) : std::nullopt;
}

// A comparison with a choice, one side of which meets it and the other does not.
Expr AsCondition(const Expr& e) {
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const Expr& choice = e->operands[side];
    if (choice->kind != Expr::Kind::kSelect || choice->type != ScalarType::kInt) continue;
    const auto with = [&](std::size_t chosen) {
      auto operands = e->operands;
      operands[side] = choice->operands[chosen];
      return Decided(WithOperands(e, std::move(operands)));
    };
    const auto then = with(1), otherwise = with(2);
    if (!then || !otherwise) continue;
    if (*then == *otherwise) return Expr::Bool(*then);
    return *then ? choice->operands[0] : Apply(UnaryOp::kNot, choice->operands[0]);
  }
  return {};
}

Expr Within(const Expr& side, const Expr& condition, std::size_t chosen) {
  return Rewrite(side, [&](const Expr& e) -> Expr {
    return e->kind == Expr::Kind::kSelect && SameExpr(e->operands[0], condition) ? e->operands[chosen] : Expr();
  });
}

}  // namespace

Expr WithChoicesMade(const Expr& expr) {
  return Rewrite(expr, [](const Expr& e) -> Expr {
    if (e->kind == Expr::Kind::kBinary && e->binary >= BinaryOp::kLess && e->binary <= BinaryOp::kNotEqual)
      return AsCondition(e);
    if (e->kind != Expr::Kind::kSelect) return {};
    const Expr then = Within(e->operands[1], e->operands[0], 1), other = Within(e->operands[2], e->operands[0], 2);
    if (then.get() == e->operands[1].get() && other.get() == e->operands[2].get()) return {};
    return Select(e->operands[0], then, other);
  });
}

}  // namespace hone::expert
