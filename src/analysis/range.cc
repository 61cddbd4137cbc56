#include "analysis/range.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

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

// --- Sums of draws ---

namespace {

// An element as a function of a few independent draws.
class DrawFunction {
 public:
  // False if `term` is anything else.
  bool Read(const Graph& graph, const Expr& term) {
    graph_ = &graph;
    bool good = true;
    Visit(term, [&](const ExprNode& node) {
      good &= node.kind != Expr::Kind::kReduce;
      if (node.kind != Expr::Kind::kLoad) return;
      const Buffer& buffer = graph.buffers()[static_cast<std::size_t>(node.buffer)];
      good &=
          buffer.stage < 0 && buffer.tensor >= 0 &&
          !std::holds_alternative<FromFile>(graph.problem().tensors[static_cast<std::size_t>(buffer.tensor)].generator);
    });
    if (!good) return false;
    Collect(term);
    return sound_ && !draws_.empty() && draws_.size() <= 4;
  }

  std::size_t count() const { return draws_.size(); }
  const Expr& draw(std::size_t i) const { return draws_[i]; }

  // The value that the uniform number u in (0, 1) stands for.
  double Quantile(std::size_t i, double u) const {
    const Buffer& buffer = graph_->buffers()[static_cast<std::size_t>(draws_[i]->buffer)];
    const Generator& generator = graph_->problem().tensors[static_cast<std::size_t>(buffer.tensor)].generator;
    if (const auto* uniform = std::get_if<Uniform>(&generator))
      return uniform->low + u * (uniform->high - uniform->low);
    if (const auto* normal = std::get_if<Normal>(&generator))
      return normal->mean + normal->deviation * NormalQuantile(u);
    if (const auto* range = std::get_if<IntegerRange>(&generator))
      return std::floor(static_cast<double>(range->low) + u * static_cast<double>(range->high - range->low));
    return std::get<Constant>(generator).value;
  }

  double Value(const Expr& e, const std::vector<double>& values) const {
    switch (e->kind) {
      case Expr::Kind::kConst: return NumberOf(*e);
      case Expr::Kind::kLoad:
        for (std::size_t i = 0; i < draws_.size(); ++i) {
          if (SameExpr(draws_[i], e)) return values[i];
        }
        return std::nan("");
      case Expr::Kind::kUnary: return ValueOf(e->unary, Value(e->operands[0], values));
      case Expr::Kind::kBinary: return ValueOf(e->binary, Value(e->operands[0], values), Value(e->operands[1], values));
      case Expr::Kind::kSelect: return Value(e->operands[Value(e->operands[0], values) != 0 ? 1 : 2], values);
      case Expr::Kind::kCast: {
        const double value = Value(e->operands[0], values);
        return e->type == ScalarType::kInt ? std::trunc(value) : e->type == ScalarType::kBool ? value != 0 : value;
      }
      default: return std::nan("");
    }
  }

 private:
  void Collect(const Expr& e) {
    if (e->kind == Expr::Kind::kIndex) sound_ = false;  // the value itself hangs on the place
    if (e->kind == Expr::Kind::kLoad) {
      for (const auto& draw : draws_) {
        if (SameExpr(draw, e)) return;
        if (draw->buffer == e->buffer) sound_ = false;  // two elements of one tensor: neighbours share them
      }
      draws_.push_back(e);
      return;
    }
    for (const auto& operand : e->operands) Collect(operand);
  }

  // Bisection on erfc: a few thousand calls a sum.
  static double NormalQuantile(double u) {
    double low = -kDeviations, high = kDeviations;
    for (int i = 0; i < 40; ++i) {
      const double middle = (low + high) / 2;
      (0.5 * std::erfc(-middle * 0.70710678118654752440) < u ? low : high) = middle;
    }
    return (low + high) / 2;
  }

  const Graph* graph_ = nullptr;
  std::vector<Expr> draws_;
  bool sound_ = true;
};

// How many terms of a sum read one and the same element, if different values of the indices that are used name
// different elements.
std::optional<double> Repeats(const Expr& load, const std::vector<IndexVar>& over) {
  std::vector<int> used;
  for (const auto& index : load->operands) {
    LinearIndex sum = ToLinear(index);
    std::vector<std::pair<std::int64_t, std::int64_t>> steps;  // coefficient, extent
    for (const auto& [atom, coefficient] : sum.atoms) {
      bool summed = false;
      for (const auto& var : over) summed |= UsesIndex(atom, var.id);
      if (!summed) continue;
      if (atom->kind != Expr::Kind::kIndex || coefficient <= 0) return std::nullopt;
      if (std::find(used.begin(), used.end(), atom->index.id) != used.end()) return std::nullopt;
      used.push_back(atom->index.id);
      steps.emplace_back(coefficient, atom->index.extent);
    }
    std::sort(steps.begin(), steps.end());
    std::int64_t reach = 0;
    for (const auto& [coefficient, extent] : steps) {
      if (coefficient <= reach) return std::nullopt;
      reach += coefficient * (extent - 1);
    }
  }
  double repeats = 1;
  for (const auto& var : over) {
    if (std::find(used.begin(), used.end(), var.id) == used.end()) repeats *= static_cast<double>(var.extent);
  }
  return repeats;
}

// `e` with what element-wise stages make of inputs written out; nothing if there is more to it.
Expr WithoutSteps(const Graph& graph, const Symbolic& symbolic, Expr e) {
  for (int step = 0; step < 8; ++step) {
    bool more = false, good = true;
    e = ReplaceLoads(e, [&](const ExprNode& load) -> Expr {
      const int made_by = graph.buffers()[static_cast<std::size_t>(load.buffer)].stage;
      if (made_by < 0) return {};
      const Stage& stage = graph.stages()[static_cast<std::size_t>(made_by)];
      const Expr& value = symbolic.Value(static_cast<std::size_t>(made_by));
      if (!value || stage.sequence >= 0 || HasReduce(value)) {
        good = false;
        return {};
      }
      more = true;
      return Substitute(value, [&](const IndexVar& var) -> Expr {
        for (std::size_t d = 0; d < stage.vars.size(); ++d) {
          if (stage.vars[d].id == var.id) return load.operands[d];
        }
        return {};
      });
    });
    std::size_t size = 0;
    Visit(e, [&](const ExprNode&) { ++size; });
    if (!good || size > 200) return {};
    if (!more) return e;
  }
  return {};
}

}  // namespace

std::optional<IndependentSum> SumOfDraws(const Graph& graph, const Symbolic& symbolic, const ExprNode& sum) {
  if (sum.kind != Expr::Kind::kReduce || sum.reduce != ReduceOp::kSum || !IsReal(sum.operands[0])) return std::nullopt;
  const Expr term = WithoutSteps(graph, symbolic, sum.operands[0]);
  DrawFunction function;
  if (!term || !function.Read(graph, term)) return std::nullopt;
  double terms = 1;
  for (const auto& var : sum.over) terms *= static_cast<double>(var.extent);
  std::vector<double> repeats;
  for (std::size_t i = 0; i < function.count(); ++i) {
    const auto count = Repeats(function.draw(i), sum.over);
    if (!count) return std::nullopt;
    repeats.push_back(*count);
  }
  // Quasi-random points in the unit cube (powers of the plastic numbers' inverse), for the mean of a term, and for the
  // mean square by which it changes when one of its draws is drawn again. By Efron and Stein the latter bound the
  // variance of a function of independent draws: the sum over all draws of half that, times how many terms one is in
  // (Cauchy and Schwarz).
  constexpr int kPoints = 4096;
  constexpr double kPlastic[] = {1.6180339887498949, 1.3247179572447460, 1.2207440846057596, 1.1673039782614187,
                                 1.1347241384015194};
  const std::size_t n = function.count();
  const double g = kPlastic[n];  // one dimension more: what a draw is drawn again as
  std::vector<double> values(n), steps(n + 1);
  for (std::size_t i = 0; i <= n; ++i) steps[i] = std::pow(1 / g, static_cast<double>(i + 1));
  const auto at = [&](int point, std::size_t i) {
    const double u = 0.5 + steps[i] * (point + 1);
    return std::clamp(u - std::floor(u), 1e-9, 1 - 1e-9);
  };
  double mean = 0;
  std::vector<double> change(n, 0.0);
  for (int point = 0; point < kPoints; ++point) {
    for (std::size_t i = 0; i < n; ++i) values[i] = function.Quantile(i, at(point, i));
    const double value = function.Value(term, values);
    if (!std::isfinite(value)) return std::nullopt;
    mean += value / kPoints;
    for (std::size_t i = 0; i < n; ++i) {
      const double before = values[i];
      values[i] = function.Quantile(i, at(point, n));
      const double difference = function.Value(term, values) - value;
      values[i] = before;
      change[i] += difference * difference / kPoints;
    }
  }
  double variance = 0;
  for (std::size_t i = 0; i < n; ++i) variance += 0.5 * terms * repeats[i] * change[i];
  // The mean of so many points is off by a few of its own steps; heavy tails are seen late.
  return IndependentSum{.mean = terms * mean, .deviation = 1.2 * std::sqrt(variance)};
}

// --- Expressions ---

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
