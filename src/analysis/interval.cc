#include "analysis/interval.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "expr/fold.h"

namespace hone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Range kUnknown = {-kInfinity, kInfinity};

Range WholesBetween(double low, double high) { return {low, high, false, false, true}; }

bool IsWhole(double x) { return std::trunc(x) == x && std::isfinite(x); }

// 0 * infinity is 0 here: the infinite ends are of finite numbers that we know nothing about.
double Times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

Range Divide(const Range& a, const Range& b) {
  Range result = {-kInfinity, kInfinity, a.maybe_nan || b.maybe_nan, a.nan || b.nan};
  if (b.low > 0 || b.high < 0) {
    const Range inverse = {1 / b.high, 1 / b.low, b.maybe_nan, b.nan};
    result = Multiply(a, inverse);
    result.whole = false;
  } else if (b.low == 0 && a.low >= 0) {
    result.low = 0;  // of a positive number over one that is not negative
    result.maybe_nan |= a.low == 0;
  } else if (a.low <= 0 && a.high >= 0) {
    result.maybe_nan = true;
  }
  return result;
}

// A rising function on the part of `x` where it is defined.
Range Rising(const Range& x, UnaryOp op, double defined_from = -kInfinity, double defined_to = kInfinity) {
  Range result = {ValueOf(op, std::clamp(x.low, defined_from, defined_to)),
                  ValueOf(op, std::clamp(x.high, defined_from, defined_to)), x.maybe_nan, x.nan};
  if (x.low < defined_from || x.high > defined_to) result.maybe_nan = true;
  if (x.high < defined_from || x.low > defined_to) result.nan = true;
  if (std::isnan(result.low)) result.low = -kInfinity;
  if (std::isnan(result.high)) result.high = kInfinity;
  return result;
}

Range Falling(const Range& x, UnaryOp op, double defined_from = -kInfinity, double defined_to = kInfinity) {
  Range result = Rising(x, op, defined_from, defined_to);
  std::swap(result.low, result.high);
  return result;
}

Range Truth(bool always, bool never) { return WholesBetween(always ? 1 : 0, never ? 0 : 1); }

// The least 2^k of which all are between -2^k and 2^k - 1.
double NextPower(const Range& a, const Range& b) {
  const double reach = std::max({-a.low, -b.low, a.high + 1, b.high + 1});
  return std::isfinite(reach) ? std::exp2(std::ceil(std::log2(std::max(reach, 1.0)))) : kInfinity;
}

// Of bits of whole numbers; of truth values with 0 and 1.
Range OfBits(BinaryOp op, ScalarType type, const Range& a, const Range& b) {
  if (type == ScalarType::kBool && op == BinaryOp::kAnd)
    return Truth(a.low >= 1 && b.low >= 1, a.high <= 0 || b.high <= 0);
  if (type == ScalarType::kBool && op == BinaryOp::kOr)
    return Truth(a.low >= 1 || b.low >= 1, a.high <= 0 && b.high <= 0);
  if (type == ScalarType::kBool) return Truth(false, false);
  // Signs are bits, too: without one where neither has it, and after `and` where one of both has none.
  if (op == BinaryOp::kAnd && (a.low >= 0 || b.low >= 0))
    return WholesBetween(0, std::min(a.low < 0 ? kInfinity : a.high, b.low < 0 ? kInfinity : b.high));
  const double power = NextPower(a, b);
  return WholesBetween(a.low < 0 || b.low < 0 ? -power : 0, power - 1);
}

Range OfFloorDiv(const Range& a, const Range& b) {
  if (!(b.low > 0)) return kUnknown;
  const auto quotient = [](double x, double y) { return std::isinf(y) ? (x < 0 ? -1 : 0) : std::floor(x / y); };
  Range result = {std::min(quotient(a.low, b.low), quotient(a.low, b.high)),
                  std::max(quotient(a.high, b.low), quotient(a.high, b.high)), a.maybe_nan || b.maybe_nan,
                  a.nan || b.nan};
  result.whole = std::isfinite(result.low) && std::isfinite(result.high);
  return result;
}

Range OfFloorMod(ScalarType type, const Range& a, const Range& b) {
  if (!(b.low > 0)) return kUnknown;
  Range result = {0, b.high - (a.whole && b.whole ? 1 : 0), a.maybe_nan || b.maybe_nan, a.nan || b.nan,
                  a.whole && b.whole};
  result.maybe_nan |= type == ScalarType::kReal && !std::isfinite(a.low + a.high);
  if (a.low >= 0 && a.high < b.low) return {a.low, a.high, result.maybe_nan, result.nan, a.whole};
  return result;
}

// Of whole numbers, whatever they hang on: they have no NaN.
Range OfType(ScalarType type, Range range) {
  if (type == ScalarType::kReal) return range;
  if (type == ScalarType::kBool) range.low = std::max(range.low, 0.0), range.high = std::min(range.high, 1.0);
  range.maybe_nan = range.nan = false;
  range.whole = true;
  return range;
}

}  // namespace

Range Between(double low, double high) { return {low, high, false, false, low == high && IsWhole(low)}; }

Range Multiply(const Range& a, const Range& b) {
  const double ends[] = {Times(a.low, b.low), Times(a.low, b.high), Times(a.high, b.low), Times(a.high, b.high)};
  return {*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4), a.maybe_nan || b.maybe_nan,
          a.nan || b.nan, a.whole && b.whole};
}

Range RangeOfUnary(UnaryOp op, const Range& x) {
  switch (op) {
    case UnaryOp::kNeg: return {-x.high, -x.low, x.maybe_nan, x.nan, x.whole};
    case UnaryOp::kAbs: {
      Range result = x;
      result.low = x.low > 0 ? x.low : x.high < 0 ? -x.high : 0;
      result.high = std::max(std::abs(x.low), std::abs(x.high));
      return result;
    }
    case UnaryOp::kExp:
    case UnaryOp::kExpm1:
    case UnaryOp::kAtan:
    case UnaryOp::kSinh:
    case UnaryOp::kTanh:
    case UnaryOp::kAsinh:
    case UnaryOp::kErf: return Rising(x, op);
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kTrunc:
    case UnaryOp::kRound:
    case UnaryOp::kSign: {
      Range result = Rising(x, op);
      result.whole = true;
      return result;
    }
    case UnaryOp::kErfc: return Falling(x, op);
    case UnaryOp::kLog:
    case UnaryOp::kLog2:
    case UnaryOp::kLog10:
    case UnaryOp::kSqrt: return Rising(x, op, 0);
    case UnaryOp::kLog1p: return Rising(x, op, -1);
    case UnaryOp::kRsqrt: return Falling(x, op, 0);
    case UnaryOp::kAsin: return Rising(x, op, -1, 1);
    case UnaryOp::kAcos: return Falling(x, op, -1, 1);
    case UnaryOp::kAcosh: return Rising(x, op, 1);
    case UnaryOp::kAtanh: return Rising(x, op, -1, 1);
    case UnaryOp::kReciprocal: return Divide(Between(1, 1), x);
    case UnaryOp::kSin:
    case UnaryOp::kCos:
      if (x.low == x.high) return Rising(x, op);
      return {-1, 1, x.maybe_nan || !std::isfinite(x.low) || !std::isfinite(x.high), x.nan};
    case UnaryOp::kCosh: return Rising(RangeOfUnary(UnaryOp::kAbs, x), op);
    case UnaryOp::kIsNan: return Truth(x.nan, !x.maybe_nan && !x.nan);
    case UnaryOp::kNot: return {-1 - x.high, -1 - x.low, x.maybe_nan, x.nan, x.whole};
    case UnaryOp::kTan: break;
  }
  return kUnknown;
}

Range RangeOfBinary(BinaryOp op, ScalarType type, const Range& a, const Range& b) {
  const bool maybe_nan = a.maybe_nan || b.maybe_nan, nan = a.nan || b.nan, whole = a.whole && b.whole;
  switch (op) {
    case BinaryOp::kAdd: return {a.low + b.low, a.high + b.high, maybe_nan, nan, whole};
    case BinaryOp::kSub: return {a.low - b.high, a.high - b.low, maybe_nan, nan, whole};
    case BinaryOp::kMul: return Multiply(a, b);
    case BinaryOp::kDiv: return Divide(a, b);
    case BinaryOp::kMin: return {std::min(a.low, b.low), std::min(a.high, b.high), maybe_nan, nan, whole};
    case BinaryOp::kMax: return {std::max(a.low, b.low), std::max(a.high, b.high), maybe_nan, nan, whole};
    case BinaryOp::kFloorDiv: return OfFloorDiv(a, b);
    case BinaryOp::kFloorMod: return OfFloorMod(type, a, b);
    case BinaryOp::kPow:
      if (b.point() && b.low == 2) {
        const Range size = RangeOfUnary(UnaryOp::kAbs, a);
        return Multiply(size, size);
      }
      if (a.low >= 0 && b.point() && b.low > 0)
        return {std::pow(a.low, b.low), std::pow(a.high, b.low), maybe_nan, nan};
      if (a.low > 0) return {0, kInfinity, maybe_nan, nan};
      return kUnknown;
    // A comparison with a NaN is false.
    case BinaryOp::kLess: return Truth(a.high < b.low && !maybe_nan, a.low >= b.high);
    case BinaryOp::kLessEqual: return Truth(a.high <= b.low && !maybe_nan, a.low > b.high);
    case BinaryOp::kEqual: return Truth(a.point() && b.point() && a.low == b.low, a.high < b.low || b.high < a.low);
    case BinaryOp::kNotEqual: return Truth(a.high < b.low || b.high < a.low, a.point() && b.point() && a.low == b.low);
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kXor: return OfBits(op, type, a, b);
    case BinaryOp::kFmod: {
      const double most = std::min(std::max(-a.low, a.high), std::max(-b.low, b.high));
      const bool defined = std::isfinite(a.low + a.high) && (b.low > 0 || b.high < 0);
      return {a.low < 0 ? -most : 0, a.high > 0 ? most : 0, maybe_nan || !defined, nan, whole};
    }
    case BinaryOp::kAtan2: break;
  }
  return kUnknown;
}

Range RangeOfType(DType type) {
  if (IsFloat(type)) {
    const double largest = RowOf(type).infinity ? kInfinity : RowOf(type).largest;
    return {-largest, largest};
  }
  if (type == DType::kBool) return WholesBetween(0, 1);
  const double count = std::exp2(8 * static_cast<double>(Bytes(type)));
  return type == DType::kU8 ? WholesBetween(0, count - 1) : WholesBetween(-count / 2, count / 2 - 1);
}

Range AsStored(DType type, Range range) {
  const Range all = RangeOfType(type);
  if (!IsFloat(type)) return range.within(all.low, all.high) ? range : all;
  // What overflows the type is not finite, and an infinity soon makes a NaN.
  if (RowOf(type).infinity && !range.within(-RowOf(type).largest, RowOf(type).largest)) range.maybe_nan = true;
  range.low = std::clamp(range.low, all.low, all.high);
  range.high = std::clamp(range.high, all.low, all.high);
  return range;
}

Range RangeReader::Of(const Expr& e) {
  if (const auto it = done_.find(e.get()); it != done_.end()) return it->second;
  const Range range = OfType(e->type, Read(e));
  done_.emplace(e.get(), range);
  keep_.push_back(e);
  return range;
}

Range RangeReader::OfValue(const ExprNode&) { return kUnknown; }

Range RangeReader::OfBinary(const Expr& e) {
  const Expr &a = e->operands[0], &b = e->operands[1];
  if (e->binary == BinaryOp::kMul && SameExpr(a, b)) {
    const Range size = RangeOfUnary(UnaryOp::kAbs, Of(a));
    return Multiply(size, size);
  }
  return RangeOfBinary(e->binary, e->type, Of(a), Of(b));
}

Range RangeReader::OfReduce(const Expr& e) {
  const Range x = Of(e->operands[0]);
  double count = 1;
  for (const auto& var : e->over) count *= static_cast<double>(var.extent);
  switch (e->reduce) {
    case ReduceOp::kSum:
      if (count == 0) return Between(0, 0);
      return {x.low * count, x.high * count, x.maybe_nan, x.nan, x.whole};
    case ReduceOp::kMax:
    case ReduceOp::kMin:
    case ReduceOp::kAny:
    case ReduceOp::kAll: return count == 0 ? kUnknown : x;
    case ReduceOp::kProd:
      if (x.within(-1, 1)) return {x.low >= 0 ? 0.0 : -1.0, 1, x.maybe_nan, x.nan, x.whole};
      return {x.low >= 0 ? 0 : -kInfinity, kInfinity, x.maybe_nan, x.nan, x.whole};
    case ReduceOp::kArgMax:
    case ReduceOp::kArgMin: return WholesBetween(0, std::max(count - 1, 0.0));
  }
  return kUnknown;
}

Range RangeReader::Read(const Expr& e) {
  switch (e->kind) {
    case Expr::Kind::kConst: {
      const double value = NumberOf(*e);
      return std::isnan(value) ? Range{-kInfinity, kInfinity, true, true} : Between(value, value);
    }
    case Expr::Kind::kIndex:
      return WholesBetween(0, static_cast<double>(std::max<std::int64_t>(e->index.extent - 1, 0)));
    case Expr::Kind::kLoad: return OfLoad(*e);
    case Expr::Kind::kValue: return OfValue(*e);
    case Expr::Kind::kUnary: {
      if (e->unary == UnaryOp::kNot && e->type == ScalarType::kBool) {
        const Range x = Of(e->operands[0]);
        return WholesBetween(1 - x.high, 1 - x.low);
      }
      return RangeOfUnary(e->unary, Of(e->operands[0]));
    }
    case Expr::Kind::kBinary: return OfBinary(e);
    case Expr::Kind::kSelect: {
      const Range condition = Of(e->operands[0]);
      if (condition.low >= 1) return Of(e->operands[1]);
      if (condition.high <= 0) return Of(e->operands[2]);
      const Range a = Of(e->operands[1]), b = Of(e->operands[2]);
      return {std::min(a.low, b.low), std::max(a.high, b.high), a.maybe_nan || b.maybe_nan, a.nan && b.nan,
              a.whole && b.whole};
    }
    case Expr::Kind::kCast: {
      const Range x = Of(e->operands[0]);
      if (e->type == ScalarType::kReal) return x;
      if (x.maybe_nan && e->type == ScalarType::kInt && !std::isfinite(x.low + x.high)) return kUnknown;
      if (e->type == ScalarType::kInt) return WholesBetween(std::trunc(x.low), std::trunc(x.high));
      return Truth(x.low > 0 || x.high < 0, x.low == 0 && x.high == 0 && !x.maybe_nan);
    }
    case Expr::Kind::kReduce: return OfReduce(e);
  }
  return kUnknown;
}

}  // namespace hone
