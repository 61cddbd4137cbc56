#include "expr/known_value.h"

#include <cmath>

#include "expr/fold.h"

namespace hone {
namespace {

// Of the one operand that is known.
std::optional<double> OfOne(BinaryOp op, double known, bool is_first) {
  switch (op) {
    case BinaryOp::kMul: return known == 0 ? std::optional(0.0) : std::nullopt;
    case BinaryOp::kDiv: return known == 0 && is_first ? std::optional(0.0) : std::nullopt;
    case BinaryOp::kAdd: return std::isinf(known) ? std::optional(known) : std::nullopt;
    case BinaryOp::kSub: return std::isinf(known) ? std::optional(is_first ? known : -known) : std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<double> KnownWhere(const Expr& expr, const ExprNode& part, double number) {
  if (expr.get() == &part) return number;
  const auto of = [&](std::size_t i) { return KnownWhere(expr->operands[i], part, number); };
  switch (expr->kind) {
    case Expr::Kind::kConst: return NumberOf(*expr);
    case Expr::Kind::kCast: {
      const auto x = of(0);
      return x && expr->type == ScalarType::kReal ? x : std::nullopt;
    }
    case Expr::Kind::kUnary: {
      const auto x = of(0);
      return x && expr->type == ScalarType::kReal ? std::optional(ValueOf(expr->unary, *x)) : std::nullopt;
    }
    case Expr::Kind::kBinary: {
      if (expr->type != ScalarType::kReal) return std::nullopt;
      const auto a = of(0), b = of(1);
      if (a && b) return ValueOf(expr->binary, *a, *b);
      return a ? OfOne(expr->binary, *a, true) : b ? OfOne(expr->binary, *b, false) : std::nullopt;
    }
    case Expr::Kind::kSelect: {
      const auto a = of(1), b = of(2);
      return a && a == b ? a : std::nullopt;
    }
    default: return std::nullopt;
  }
}

}  // namespace hone
