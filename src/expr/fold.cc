#include "expr/fold.h"

#include <algorithm>
#include <cmath>

namespace hone {

double ValueOf(UnaryOp op, double x) {
  switch (op) {
    case UnaryOp::kNeg: return -x;
    case UnaryOp::kAbs: return std::abs(x);
    case UnaryOp::kExp: return std::exp(x);
    case UnaryOp::kExpm1: return std::expm1(x);
    case UnaryOp::kLog: return std::log(x);
    case UnaryOp::kLog1p: return std::log1p(x);
    case UnaryOp::kLog2: return std::log2(x);
    case UnaryOp::kLog10: return std::log10(x);
    case UnaryOp::kSqrt: return std::sqrt(x);
    case UnaryOp::kRsqrt: return 1 / std::sqrt(x);
    case UnaryOp::kReciprocal: return 1 / x;
    case UnaryOp::kSin: return std::sin(x);
    case UnaryOp::kCos: return std::cos(x);
    case UnaryOp::kTan: return std::tan(x);
    case UnaryOp::kAsin: return std::asin(x);
    case UnaryOp::kAcos: return std::acos(x);
    case UnaryOp::kAtan: return std::atan(x);
    case UnaryOp::kSinh: return std::sinh(x);
    case UnaryOp::kCosh: return std::cosh(x);
    case UnaryOp::kTanh: return std::tanh(x);
    case UnaryOp::kAsinh: return std::asinh(x);
    case UnaryOp::kAcosh: return std::acosh(x);
    case UnaryOp::kAtanh: return std::atanh(x);
    case UnaryOp::kErf: return std::erf(x);
    case UnaryOp::kErfc: return std::erfc(x);
    case UnaryOp::kFloor: return std::floor(x);
    case UnaryOp::kCeil: return std::ceil(x);
    case UnaryOp::kTrunc: return std::trunc(x);
    case UnaryOp::kRound: return std::nearbyint(x);
    case UnaryOp::kSign: return (x > 0) - (x < 0);
    case UnaryOp::kIsNan: return std::isnan(x);
    case UnaryOp::kNot: return x == 0;
  }
  return std::nan("");
}

double ValueOf(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::kAdd: return a + b;
    case BinaryOp::kSub: return a - b;
    case BinaryOp::kMul: return a * b;
    case BinaryOp::kDiv: return a / b;
    case BinaryOp::kFloorDiv: return std::floor(a / b);
    case BinaryOp::kFloorMod: return a - std::floor(a / b) * b;
    case BinaryOp::kMin: return std::isnan(a) ? a : std::isnan(b) ? b : std::min(a, b);
    case BinaryOp::kMax: return std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b);
    case BinaryOp::kPow: return std::pow(a, b);
    case BinaryOp::kAtan2: return std::atan2(a, b);
    case BinaryOp::kFmod: return std::fmod(a, b);
    case BinaryOp::kLess: return a < b;
    case BinaryOp::kLessEqual: return a <= b;
    case BinaryOp::kEqual: return a == b;
    case BinaryOp::kNotEqual: return a != b;
    case BinaryOp::kAnd: return a != 0 && b != 0;
    case BinaryOp::kOr: return a != 0 || b != 0;
    case BinaryOp::kXor: return (a != 0) != (b != 0);
  }
  return std::nan("");
}

namespace {

std::optional<Expr> Constant(double value, ScalarType type) {
  if (type == ScalarType::kBool) return Expr::Bool(value != 0);
  if (type == ScalarType::kReal && std::isfinite(value)) return Expr(value);
  return std::nullopt;
}

}  // namespace

std::optional<Expr> Evaluate(UnaryOp op, const Expr& x) {
  if (x->type != ScalarType::kReal) return std::nullopt;
  return Constant(ValueOf(op, x->real), op == UnaryOp::kIsNan ? ScalarType::kBool : ScalarType::kReal);
}

std::optional<Expr> Evaluate(BinaryOp op, const Expr& a, const Expr& b) {
  if (a->type != ScalarType::kReal || b->type != ScalarType::kReal) return std::nullopt;
  const bool truth = op >= BinaryOp::kLess && op <= BinaryOp::kNotEqual;
  return Constant(ValueOf(op, a->real, b->real), truth ? ScalarType::kBool : ScalarType::kReal);
}

std::optional<double> ValueAt(const Expr& e, const std::map<int, std::int64_t>& indices) {
  switch (e->kind) {
    case Expr::Kind::kConst: return NumberOf(*e);
    case Expr::Kind::kIndex: {
      const auto it = indices.find(e->index.id);
      if (it == indices.end()) return std::nullopt;
      return static_cast<double>(it->second);
    }
    case Expr::Kind::kCast: {
      const auto x = ValueAt(e->operands[0], indices);
      if (!x) return std::nullopt;
      return e->type == ScalarType::kInt ? std::trunc(*x) : e->type == ScalarType::kBool ? *x != 0 : *x;
    }
    case Expr::Kind::kUnary: {
      const auto x = ValueAt(e->operands[0], indices);
      if (!x) return std::nullopt;
      return ValueOf(e->unary, *x);
    }
    case Expr::Kind::kBinary: {
      const auto a = ValueAt(e->operands[0], indices), b = ValueAt(e->operands[1], indices);
      if (!a || !b) return std::nullopt;
      return ValueOf(e->binary, *a, *b);
    }
    case Expr::Kind::kSelect: {
      const auto condition = ValueAt(e->operands[0], indices);
      if (!condition) return std::nullopt;
      return ValueAt(e->operands[*condition != 0 ? 1 : 2], indices);
    }
    case Expr::Kind::kLoad:
    case Expr::Kind::kValue:
    case Expr::Kind::kReduce: return std::nullopt;
  }
  return std::nullopt;
}

std::vector<Expr> Conjuncts(const Expr& condition) {
  if (condition->kind != Expr::Kind::kBinary || condition->binary != BinaryOp::kAnd) return {condition};
  std::vector<Expr> all;
  for (const auto& operand : condition->operands) {
    for (auto& one : Conjuncts(operand)) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace hone
