// What DeviceExpr writes of values that are rounded to 16 bits: the instructions of the units for functions, where an
// exact result takes many.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dsl/cuda/expr.h"
#include "dsl/knobs.h"

namespace hone::dsl {
namespace {

using Kind = Expr::Kind;

// What a little off makes another value altogether.
bool Jumps(const ExprNode& node) {
  switch (node.kind) {
    case Kind::kReduce: return IsArg(node.reduce);
    case Kind::kCast: return node.type != ScalarType::kReal && node.operands[0]->type == ScalarType::kReal;
    case Kind::kUnary:
      return node.unary == UnaryOp::kFloor || node.unary == UnaryOp::kCeil || node.unary == UnaryOp::kTrunc ||
             node.unary == UnaryOp::kRound || node.unary == UnaryOp::kSign || node.unary == UnaryOp::kIsNan;
    case Kind::kBinary:
      return node.binary == BinaryOp::kFloorDiv || node.binary == BinaryOp::kFloorMod ||
             node.binary == BinaryOp::kFmod || node.type == ScalarType::kBool;
    default: return false;
  }
}

// What a little off changes by much more: at the edge of a domain, by many turns, or as what little is left of numbers.
bool Magnifies(const ExprNode& node) {
  constexpr UnaryOp kFunctions[] = {UnaryOp::kSqrt,  UnaryOp::kRsqrt, UnaryOp::kLog,  UnaryOp::kLog1p, UnaryOp::kLog2,
                                    UnaryOp::kLog10, UnaryOp::kSin,   UnaryOp::kCos,  UnaryOp::kTan,   UnaryOp::kAsin,
                                    UnaryOp::kAcos,  UnaryOp::kAcosh, UnaryOp::kAtanh};
  if (node.kind == Kind::kUnary) return std::ranges::find(kFunctions, node.unary) != std::end(kFunctions);
  if (node.kind != Kind::kBinary || node.type != ScalarType::kReal) return false;
  const auto is_number = [&](std::size_t i) { return node.operands[i]->kind == Kind::kConst; };
  const auto is_below_zero = [&](std::size_t i) { return is_number(i) && NumberOf(*node.operands[i]) < 0; };
  return node.binary == BinaryOp::kPow || (node.binary == BinaryOp::kSub && (is_number(0) || is_number(1))) ||
         (node.binary == BinaryOp::kAdd && (is_below_zero(0) || is_below_zero(1)));
}

bool HasInverse(const Expr& divisor) {
  const auto number = ConstantNumber(divisor);
  return number && std::isnormal(*number) && std::isnormal(static_cast<float>(1 / *number));
}

// Whether it is made of functions whose coarse forms are off; `by_numbers`: or of quotients by numbers, which are off
// by one rounding.
bool HasCoarseForm(const Expr& expr, bool by_numbers) {
  bool has = false;
  Visit(expr, [&](const ExprNode& node) {
    has |= node.kind == Kind::kUnary && (node.unary == UnaryOp::kExp || node.unary == UnaryOp::kReciprocal ||
                                         node.unary == UnaryOp::kErf || node.unary == UnaryOp::kTanh);
    has |= node.kind == Kind::kBinary && node.binary == BinaryOp::kDiv && (by_numbers || !HasInverse(node.operands[1]));
  });
  return has;
}

bool IsExact(const Expr& expr) {
  bool exact = false;
  Visit(expr, [&](const ExprNode& node) {
    const bool jumps = Jumps(node);
    exact |= (jumps || Magnifies(node)) && std::ranges::any_of(node.operands, [&](const Expr& operand) {
               return HasCoarseForm(operand, /*by_numbers=*/jumps);
             });
  });
  return exact;
}

}  // namespace

bool TellsApart(const Expr& expr) {
  bool tells = false;
  Visit(expr, [&](const ExprNode& node) { tells |= Jumps(node) || Magnifies(node); });
  return tells;
}

void DeviceExpr::BeCoarseWhereRounded(const std::vector<Expr>& exprs, const std::vector<DType>& types) {
  coarse_ = !writer_.wide() &&
            std::ranges::all_of(types, [](DType type) { return IsFloat(type) && Bytes(type) <= 2; }) &&
            std::ranges::none_of(exprs, IsExact);
}

std::string DeviceExpr::CoarseQuotient(const ExprNode& quotient) {
  const Expr &a = quotient.operands[0], &b = quotient.operands[1];
  const auto atom = [&](const Expr& e) { return "(" + Text(e) + ")"; };
  if (HasInverse(b)) return fmt::format("{} * {}", atom(a), InverseText(writer_, b));
  if (ConstantNumber(b)) return fmt::format("{} / {}", atom(a), Text(b));
  // Of an inverse that is flushed to zero nothing is left where what it is of is as large.
  bool of_power = false;
  Visit(a, [&](const ExprNode& node) { of_power |= node.kind == Kind::kUnary && node.unary == UnaryOp::kExp; });
  if (IsAboveOne(b) && !of_power) {
    const std::string over = atom(a);
    return fmt::format("{} * {}({})", over, writer_.Helper("InverseUnit"), Text(b));
  }
  const std::string over = Text(a), by = Text(b);
  return fmt::format("{}({}, {})", writer_.Helper("Quotient"), over, by);
}

// Whether it is 1 + e^x, of which the unit for inverses needs no help.
bool DeviceExpr::IsAboveOne(const Expr& e) {
  const auto is_one = [](const Expr& x) { return x->kind == Kind::kConst && NumberOf(*x) == 1; };
  const auto is_power = [](const Expr& x) { return x->kind == Kind::kUnary && x->unary == UnaryOp::kExp; };
  if (e->kind != Kind::kBinary || e->binary != BinaryOp::kAdd) return false;
  const Expr &a = e->operands[0], &b = e->operands[1];
  return (is_one(a) && is_power(b)) || (is_one(b) && is_power(a));
}

// 1 + erf(x) and 1 + tanh(x), where they need not be exact; empty for other sums.
std::string DeviceExpr::OnePlus(const ExprNode& sum) {
  if (!coarse_) return "";
  for (const std::size_t one : {0, 1}) {
    const Expr &number = sum.operands[one], &function = sum.operands[1 - one];
    if (number->kind != Kind::kConst || NumberOf(*number) != 1 || function->kind != Kind::kUnary) continue;
    const UnaryOp op = function->unary;
    if (op != UnaryOp::kErf && op != UnaryOp::kTanh) continue;
    return fmt::format("{}({})", writer_.Helper(op == UnaryOp::kErf ? "OnePlusErf" : "OnePlusTanh"),
                       Text(function->operands[0]));
  }
  return "";
}

std::string InverseText(const DeviceWriter& out, const Expr& divisor) {
  return HasInverse(divisor) ? out.Number(1 / *ConstantNumber(divisor)) : std::string();
}

}  // namespace hone::dsl
