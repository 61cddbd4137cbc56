#include "analysis/range.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "analysis/sum_of_draws.h"
#include "expr/fold.h"

namespace hone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Range kUnknown = {-kInfinity, kInfinity};

Range Plain(double low, double high) { return {low, high, false, false}; }

// 0 * infinity is 0 here: the infinite ends are of finite numbers that we know nothing about.
double Times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

Range Multiply(const Range& a, const Range& b) {
  const double ends[] = {Times(a.low, b.low), Times(a.low, b.high), Times(a.high, b.low), Times(a.high, b.high)};
  return {*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4), a.maybe_nan || b.maybe_nan,
          a.nan || b.nan};
}

Range Divide(const Range& a, const Range& b) {
  Range result = {-kInfinity, kInfinity, a.maybe_nan || b.maybe_nan, a.nan || b.nan};
  if (b.low > 0 || b.high < 0) {
    const Range inverse = {1 / b.high, 1 / b.low, b.maybe_nan, b.nan};
    result = Multiply(a, inverse);
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

Range Unary(UnaryOp op, const Range& x) {
  switch (op) {
    case UnaryOp::kNeg: return {-x.high, -x.low, x.maybe_nan, x.nan};
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
    case UnaryOp::kErf:
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kTrunc:
    case UnaryOp::kRound:
    case UnaryOp::kSign: return Rising(x, op);
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
    case UnaryOp::kReciprocal: return Divide(Plain(1, 1), x);
    case UnaryOp::kSin:
    case UnaryOp::kCos:
      if (x.low == x.high) return Rising(x, op);
      return {-1, 1, x.maybe_nan || !std::isfinite(x.low) || !std::isfinite(x.high), x.nan};
    case UnaryOp::kCosh: {
      const Range size = Unary(UnaryOp::kAbs, x);
      return Rising(size, op);
    }
    case UnaryOp::kIsNan: return Plain(x.nan ? 1 : 0, x.maybe_nan || x.nan ? 1 : 0);
    case UnaryOp::kNot:
    case UnaryOp::kTan: break;
  }
  return kUnknown;
}

Range Truth(bool always, bool never) { return Plain(always ? 1 : 0, never ? 0 : 1); }

Range Binary(BinaryOp op, const Range& a, const Range& b) {
  const bool maybe_nan = a.maybe_nan || b.maybe_nan, nan = a.nan || b.nan;
  switch (op) {
    case BinaryOp::kAdd: return {a.low + b.low, a.high + b.high, maybe_nan, nan};
    case BinaryOp::kSub: return {a.low - b.high, a.high - b.low, maybe_nan, nan};
    case BinaryOp::kMul: return Multiply(a, b);
    case BinaryOp::kDiv: return Divide(a, b);
    case BinaryOp::kMin: return {std::min(a.low, b.low), std::min(a.high, b.high), maybe_nan, nan};
    case BinaryOp::kMax: return {std::max(a.low, b.low), std::max(a.high, b.high), maybe_nan, nan};
    case BinaryOp::kPow:
      if (b.point() && b.low == 2) {
        const Range size = Unary(UnaryOp::kAbs, a);
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
    case BinaryOp::kAnd: return Plain(a.low >= 1 && b.low >= 1 ? 1 : 0, a.high <= 0 || b.high <= 0 ? 0 : 1);
    case BinaryOp::kOr: return Plain(a.low >= 1 || b.low >= 1 ? 1 : 0, a.high <= 0 && b.high <= 0 ? 0 : 1);
    default: return kUnknown;
  }
}

bool IsReal(const Expr& e) { return e->type == ScalarType::kReal; }

}  // namespace

Range RangeOfInput(const Tensor& tensor) {
  struct Visitor {
    bool real;
    Range operator()(const Uniform& uniform) const { return Plain(uniform.low, uniform.high); }
    Range operator()(const Normal& normal) const {
      return Plain(normal.mean - kDeviations * normal.deviation, normal.mean + kDeviations * normal.deviation);
    }
    Range operator()(const IntegerRange& range) const {
      return Plain(static_cast<double>(range.low), static_cast<double>(range.high - 1));
    }
    Range operator()(const Constant& constant) const { return Plain(constant.value, constant.value); }
    Range operator()(const FromFile&) const { return {-kInfinity, kInfinity, real, false}; }
  };
  const Visitor visitor{IsFloat(tensor.dtype)};
  return std::visit(visitor, tensor.generator);
}

class RangeVisitor {
 public:
  explicit RangeVisitor(const Ranges& ranges) : ranges_(ranges) {}

  Range Do(const Expr& e) {
    if (const auto it = done_.find(e.get()); it != done_.end()) return it->second;
    const Range range = Visit(e);
    done_.emplace(e.get(), range);
    return range;
  }

 private:
  Range Visit(const Expr& e) {
    switch (e->kind) {
      case Expr::Kind::kConst: {
        const double value = NumberOf(*e);
        return std::isnan(value) ? Range{-kInfinity, kInfinity, true, true} : Plain(value, value);
      }
      case Expr::Kind::kIndex: return Plain(0, static_cast<double>(std::max<std::int64_t>(e->index.extent - 1, 0)));
      case Expr::Kind::kLoad: return ranges_.Of(e->buffer);
      case Expr::Kind::kUnary: return Unary(e->unary, Do(e->operands[0]));
      case Expr::Kind::kBinary: return VisitBinary(e);
      case Expr::Kind::kSelect: {
        const Range condition = Do(e->operands[0]);
        if (condition.low >= 1) return Do(e->operands[1]);
        if (condition.high <= 0) return Do(e->operands[2]);
        const Range a = Do(e->operands[1]), b = Do(e->operands[2]);
        return {std::min(a.low, b.low), std::max(a.high, b.high), a.maybe_nan || b.maybe_nan, a.nan && b.nan};
      }
      case Expr::Kind::kCast: {
        const Range x = Do(e->operands[0]);
        if (e->type == ScalarType::kReal || x.maybe_nan) return e->type == ScalarType::kReal ? x : kUnknown;
        if (e->type == ScalarType::kInt) return Plain(std::trunc(x.low), std::trunc(x.high));
        return Plain(x.low > 0 || x.high < 0 ? 1 : 0, x.low == 0 && x.high == 0 ? 0 : 1);
      }
      case Expr::Kind::kReduce: return VisitReduce(e);
      case Expr::Kind::kValue: break;
    }
    return kUnknown;
  }

  Range VisitBinary(const Expr& e) {
    const Expr &a = e->operands[0], &b = e->operands[1];
    if (e->type == ScalarType::kInt) {
      if (a->type == ScalarType::kInt && b->type == ScalarType::kInt && !HasLoad(e)) {
        const auto [low, high] = IndexRange(e);
        return Plain(low, high);
      }
      if (e->binary > BinaryOp::kMul && e->binary != BinaryOp::kMin && e->binary != BinaryOp::kMax) return kUnknown;
    }
    Range range = Binary(e->binary, Do(a), Do(b));
    if (e->binary == BinaryOp::kMul && SameExpr(a, b)) {
      const Range size = Unary(UnaryOp::kAbs, Do(a));
      range = Multiply(size, size);
    }
    // An element minus the largest of those that it is one of.
    if (e->binary == BinaryOp::kSub) {
      if (IsOneOf(a, b, ReduceOp::kMax)) range.high = std::min(range.high, 0.0);
      if (IsOneOf(a, b, ReduceOp::kMin)) range.low = std::max(range.low, 0.0);
    }
    // An element over the sum of those that it is one of, all positive.
    if (e->binary == BinaryOp::kDiv && IsOneOf(a, b, ReduceOp::kSum)) {
      const Range x = Do(a);
      const double others = Terms(b) - 1;
      if (x.low >= 0 && !x.maybe_nan) {
        range.low = x.low == 0 ? 0 : x.low / (x.low + others * x.high);
        range.high = x.high == 0 ? 0 : x.low == 0 ? 1 : std::isinf(x.high) ? 1 : x.high / (x.high + others * x.low);
        if (std::isnan(range.low)) range.low = 0;
        if (x.low > 0) range.maybe_nan = false;
      }
    }
    return range;
  }

  // The definition of what `e` loads, in terms of e's own indices; or nothing.
  Expr Definition(const Expr& e) const {
    if (e->kind == Expr::Kind::kReduce) return e;
    if (e->kind != Expr::Kind::kLoad) return {};
    const int made_by = ranges_.graph_->buffers()[static_cast<std::size_t>(e->buffer)].stage;
    if (made_by < 0) return {};
    const Stage& stage = ranges_.graph_->stages()[static_cast<std::size_t>(made_by)];
    const Expr& value = ranges_.symbolic_->Value(static_cast<std::size_t>(made_by));
    if (!value || stage.sequence >= 0) return {};
    return Substitute(value, [&](const IndexVar& var) -> Expr {
      for (std::size_t d = 0; d < stage.vars.size(); ++d) {
        if (stage.vars[d].id == var.id) return e->operands[d];
      }
      return {};
    });
  }

  double Terms(const Expr& e) const {
    const Expr reduce = Definition(e);
    double terms = 1;
    for (const auto& var : reduce->over) terms *= static_cast<double>(var.extent);
    return terms;
  }

  // Whether `all` is the reduction `op` over a family that `one` belongs to.
  bool IsOneOf(const Expr& one, const Expr& all, ReduceOp op) const {
    if (!IsReal(one) || one->kind == Expr::Kind::kConst) return false;
    const Expr reduce = Definition(all);
    if (!reduce || reduce->kind != Expr::Kind::kReduce || reduce->reduce != op) return false;
    std::vector<std::pair<int, Expr>> chosen;
    return Belongs(reduce->operands[0], one, reduce->over, chosen);
  }

  // Whether some choice of the indices `over` makes `family` the expression `one`.
  static bool Belongs(const Expr& family, const Expr& one, const std::vector<IndexVar>& over,
                      std::vector<std::pair<int, Expr>>& chosen) {
    if (family->kind == Expr::Kind::kIndex &&
        std::any_of(over.begin(), over.end(), [&](const IndexVar& var) { return var.id == family->index.id; })) {
      for (const auto& [id, choice] : chosen) {
        if (id == family->index.id) return SameExpr(choice, one);
      }
      const auto [low, high] = IndexRange(one);
      if (low < 0 || high >= static_cast<double>(family->index.extent)) return false;
      chosen.emplace_back(family->index.id, one);
      return true;
    }
    if (family->kind != one->kind || family->type != one->type || family->operands.size() != one->operands.size())
      return false;
    if (family->kind == Expr::Kind::kReduce || family->operands.empty()) return SameExpr(family, one);
    if (family->kind == Expr::Kind::kLoad && family->buffer != one->buffer) return false;
    if (family->kind == Expr::Kind::kUnary && family->unary != one->unary) return false;
    if (family->kind == Expr::Kind::kBinary && family->binary != one->binary) return false;
    for (std::size_t i = 0; i < family->operands.size(); ++i) {
      if (!Belongs(family->operands[i], one->operands[i], over, chosen)) return false;
    }
    return true;
  }

  Range VisitReduce(const Expr& e) {
    Range x = Do(e->operands[0]);
    double count = 1;
    for (const auto& var : e->over) count *= static_cast<double>(var.extent);
    switch (e->reduce) {
      case ReduceOp::kSum: {
        if (count == 0) return Plain(0, 0);
        Range sum = {x.low * count, x.high * count, x.maybe_nan, x.nan};
        if (const auto draws = SumOfDraws(*ranges_.graph_, *ranges_.symbolic_, *e)) {
          const double room = kDeviations * draws->deviation + 0.01 * std::abs(draws->mean);
          sum.low = std::max(sum.low, draws->mean - room);
          sum.high = std::min(sum.high, draws->mean + room);
        }
        return sum;
      }
      case ReduceOp::kMax:
      case ReduceOp::kMin: return count == 0 ? kUnknown : x;
      case ReduceOp::kProd:
        if (x.low >= -1 && x.high <= 1) return {x.low >= 0 ? 0.0 : -1.0, 1, x.maybe_nan, x.nan};
        return {x.low >= 0 ? 0 : -kInfinity, kInfinity, x.maybe_nan, x.nan};
      case ReduceOp::kAny:
      case ReduceOp::kAll: return count == 0 ? kUnknown : x;
      case ReduceOp::kArgMax:
      case ReduceOp::kArgMin: return Plain(0, std::max(count - 1, 0.0));
    }
    return kUnknown;
  }

  const Ranges& ranges_;
  std::unordered_map<const ExprNode*, Range> done_;
};

Ranges::Ranges(const Graph& graph, const Symbolic& symbolic)
    : graph_(&graph), symbolic_(&symbolic), ranges_(graph.buffers().size(), kUnknown) {
  for (std::size_t b = 0; b < ranges_.size(); ++b) {
    const Buffer& buffer = graph.buffers()[b];
    if (buffer.stage < 0 && buffer.tensor >= 0)
      ranges_[b] = RangeOfInput(graph.problem().tensors[static_cast<std::size_t>(buffer.tensor)]);
  }
}

const Range& Ranges::Define(std::size_t s) {
  const Stage& stage = graph_->stages()[s];
  Range& range = ranges_[static_cast<std::size_t>(stage.buffer)];
  if (const auto constant = symbolic_->Constant(stage.buffer)) {
    range = Plain(*constant, *constant);
  } else {
    range = RangeVisitor(*this).Do(symbolic_->Value(s));
    // What overflows the type is not finite, and an infinity soon makes a NaN.
    const DType dtype = graph_->buffers()[static_cast<std::size_t>(stage.buffer)].dtype;
    const double largest = IsFloat(dtype) ? RowOf(dtype).largest : kInfinity;
    if (range.low < -largest || range.high > largest) range.maybe_nan = true;
  }
  return range;
}

}  // namespace hone
