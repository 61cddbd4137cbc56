#include "analysis/sum_of_draws.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "analysis/range.h"
#include "expr/fold.h"
#include "expr/linear_index.h"

namespace hone {
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
  if (sum.kind != Expr::Kind::kReduce || sum.reduce != ReduceOp::kSum || sum.operands[0]->type != ScalarType::kReal)
    return std::nullopt;
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

}  // namespace hone
