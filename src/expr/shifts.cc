#include "expr/shifts.h"

#include <bit>
#include <cstdint>

namespace hone {
namespace {

std::optional<std::int64_t> WholeNumber(const Expr& e) {
  if (e->kind != Expr::Kind::kConst || e->type != ScalarType::kInt) return std::nullopt;
  return e->whole;
}

// select(0 < and(n, 2^b), 2^(2^b), 1): the factor of the bit b.
std::optional<PowerBy> FactorOf(const Expr& e) {
  if (e->kind != Expr::Kind::kSelect || e->type != ScalarType::kInt || WholeNumber(e->operands[2]) != 1)
    return std::nullopt;
  const Expr& set = e->operands[0];
  if (!IsBinary(set, BinaryOp::kLess) || WholeNumber(set->operands[0]) != 0 ||
      !IsBinary(set->operands[1], BinaryOp::kAnd))
    return std::nullopt;
  const auto& both = set->operands[1]->operands;
  const auto place = WholeNumber(both[1]), power = WholeNumber(e->operands[1]);
  for (const std::int64_t bit : {1, 2, 4, 8, 16, 32}) {
    if (place == bit && power == std::int64_t{1} << bit) return PowerBy{.of = both[0], .mask = static_cast<int>(bit)};
  }
  return std::nullopt;
}

bool AddFactors(const Expr& e, PowerBy& power) {
  if (IsBinary(e, BinaryOp::kMul)) return AddFactors(e->operands[0], power) && AddFactors(e->operands[1], power);
  const auto factor = FactorOf(e);
  if (!factor || (factor->mask & power.mask) != 0 || (power.of && !SameExpr(power.of, factor->of))) return false;
  power = {factor->of, power.mask | factor->mask};
  return true;
}

}  // namespace

std::optional<PowerBy> PowerOf(const Expr& e) {
  if (e->type != ScalarType::kInt) return std::nullopt;
  if (const auto number = WholeNumber(e)) {
    if (*number <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(*number))) return std::nullopt;
    return PowerBy{.of = {}, .mask = std::countr_zero(static_cast<std::uint64_t>(*number))};
  }
  PowerBy power;
  return AddFactors(e, power) ? std::optional(power) : std::nullopt;
}

}  // namespace hone
