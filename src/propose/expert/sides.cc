#include "propose/expert/sides.h"

#include <algorithm>
#include <utility>

#include "propose/expert/normalise.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

std::optional<Expr> LoadOfBoth(const Sides& sides, const Expr& first, const Expr& second) {
  const Memory& memory = sides.memory;
  const auto from = memory.Position(*first), to = memory.Position(*second);
  if (!from || !to || memory.Root(first->buffer) != memory.Root(second->buffer)) return std::nullopt;
  const std::int64_t apart = to->constant - from->constant;
  Affine moved = *from;
  moved.constant += apart;
  if (moved != *to) return std::nullopt;
  return Load(memory.Root(first->buffer), {ToExpr(sides.PositionOfBoth(*from, apart), sides.space)}, first->type);
}

}  // namespace

Affine Sides::PositionOfBoth(Affine position, std::int64_t apart) const {
  if (apart != 0) position.coefficient[side.id] = apart;
  return position;
}

std::optional<Expr> Sides::OfBoth(const Expr& first, const Expr& second) const {
  if (!first && !second) return Expr();
  if (!first || !second) return std::nullopt;
  if (with_signs && IsUnary(first, UnaryOp::kNeg) != IsUnary(second, UnaryOp::kNeg)) {
    const bool is_first = IsUnary(first, UnaryOp::kNeg);
    const auto positive = is_first ? OfBoth(first->operands[0], second) : OfBoth(first, second->operands[0]);
    if (!positive) return std::nullopt;
    const Expr sign = Value(kSign, ScalarType::kReal);
    return (is_first ? sign : -sign) * *positive;
  }
  // a - b on one of them, c + d on the other; sums may be the other way round.
  const auto is_sum = [](const Expr& e) { return IsBinary(e, BinaryOp::kAdd) || IsBinary(e, BinaryOp::kSub); };
  if (with_signs && is_sum(first) && is_sum(second) && first->type == ScalarType::kReal) {
    const bool differ = first->binary != second->binary, first_subtracts = IsBinary(first, BinaryOp::kSub);
    const std::size_t turns = IsBinary(second, BinaryOp::kAdd) ? 2 : 1;
    for (std::size_t turn = 0; turn < turns; ++turn) {
      const auto left = OfBoth(first->operands[0], second->operands[turn]);
      const auto right = left ? OfBoth(first->operands[1], second->operands[1 - turn]) : std::nullopt;
      if (!right) continue;
      if (!differ) return first_subtracts ? *left - *right : *left + *right;
      const Expr sign = Value(kSign, ScalarType::kReal);
      return *left + (first_subtracts ? sign : -sign) * *right;
    }
    return std::nullopt;
  }
  if (first->kind != second->kind || first->type != second->type || first->operands.size() != second->operands.size())
    return std::nullopt;
  switch (first->kind) {
    case Expr::Kind::kConst: return SameExpr(first, second) ? std::optional(first) : std::nullopt;
    case Expr::Kind::kLoad: return LoadOfBoth(*this, first, second);
    case Expr::Kind::kUnary:
      if (first->unary != second->unary) return std::nullopt;
      break;
    case Expr::Kind::kBinary:
      if (first->binary != second->binary) return std::nullopt;
      break;
    case Expr::Kind::kSelect:
    case Expr::Kind::kCast: break;
    default: return std::nullopt;
  }
  std::vector<Expr> operands;
  for (std::size_t i = 0; i < first->operands.size(); ++i) {
    auto operand = OfBoth(first->operands[i], second->operands[i]);
    if (!operand) return std::nullopt;
    operands.push_back(std::move(*operand));
  }
  return WithOperands(first, std::move(operands));
}

std::optional<Piece> WithSides(const Memory& memory, const Piece& map) {
  if (!map.is_map() || !map.inside.empty() || !map.also.empty() || map.space.empty()) return std::nullopt;
  const std::int64_t columns = map.space.back().extent;
  if (columns % 2 != 0 || columns < 4) return std::nullopt;
  std::vector<IndexVar> space(map.space.begin(), map.space.end() - 1);
  const IndexVar side = NewIndex(2);
  space.push_back(side);
  space.push_back(NewIndex(columns / 2));
  auto made = OverSpace(map, space);
  if (!made) return std::nullopt;
  const auto on = [&](std::int64_t number) {
    return Simplify(
        Substitute(made->value, [&](const IndexVar& var) { return var.id == side.id ? Expr(number) : Expr(); }));
  };
  const Sides sides{.memory = memory, .space = space, .side = side, .with_signs = true};
  auto value = sides.OfBoth(on(0), on(1));
  if (!value || !UsesValue(*value, kSign)) return std::nullopt;
  // Who reads the other side keeps the two apart: else they would be one dimension again, without sides.
  const auto loads = memory.Loads(*value);
  if (std::ranges::none_of(loads, [&](const FlatLoad& load) { return load.position && load.position->of(side) < 0; }))
    return std::nullopt;
  made->value = std::move(*value);
  return made;
}

}  // namespace hone::expert
