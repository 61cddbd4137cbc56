#include "analysis/spread.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "analysis/sum_of_draws.h"

namespace hone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool IsReal(const Expr& e) { return e->type == ScalarType::kReal; }

// Of a draw around zero: its mean square. Nothing if it is not around zero.
std::optional<double> CentredSquare(const Generator& generator) {
  if (const auto* uniform = std::get_if<Uniform>(&generator)) {
    const double half = (uniform->high - uniform->low) / 2;
    if (std::abs(uniform->high + uniform->low) > 1e-6 * half) return std::nullopt;
    return half * half / 3;
  }
  if (const auto* normal = std::get_if<Normal>(&generator)) {
    if (normal->mean != 0) return std::nullopt;
    return normal->deviation * normal->deviation;
  }
  return std::nullopt;
}

double VarianceOf(const Generator& generator) {
  if (const auto* uniform = std::get_if<Uniform>(&generator))
    return (uniform->high - uniform->low) * (uniform->high - uniform->low) / 12;
  if (const auto* normal = std::get_if<Normal>(&generator)) return normal->deviation * normal->deviation;
  if (const auto* range = std::get_if<IntegerRange>(&generator)) {
    const auto count = static_cast<double>(range->high - range->low);
    return (count * count - 1) / 12;
  }
  return std::holds_alternative<Constant>(generator) ? 0 : kInfinity;
}

double Times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

}  // namespace

// The value of an expression where its indices lie in the given pieces of their ranges.
class SpreadVisitor {
 public:
  struct Value {
    double variance = kInfinity;
    std::set<int> flips;
  };
  using Pieces = std::map<int, std::pair<std::int64_t, std::int64_t>>;  // index id -> [begin, end)

  explicit SpreadVisitor(const Spread& spread) : spread_(spread) {}

  Value Do(const Expr& e, const Pieces& pieces) {
    if (IsConst(e) || e->kind == Expr::Kind::kIndex) return {0, {}};
    const bool varies = Varies(e);
    if (!varies && !CanFlip(e)) return {0, {}};
    switch (e->kind) {
      case Expr::Kind::kLoad: return OfLoad(e, pieces);
      case Expr::Kind::kUnary: return OfUnary(e, pieces);
      case Expr::Kind::kBinary: return OfBinary(e, pieces);
      case Expr::Kind::kSelect: return OfSelect(e, pieces);
      case Expr::Kind::kReduce: return OfReduce(e, pieces);
      default: return {varies ? kInfinity : 0, {}};
    }
  }

  // Where an index would have to be split so that each piece meets one case only.
  std::set<std::int64_t> Cuts(const Expr& e, const IndexVar& var) const {
    std::set<std::int64_t> cuts;
    const auto add = [&](std::int64_t at) {
      if (at > 0 && at < var.extent) cuts.insert(at);
    };
    Visit(e, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kSelect) {
        const Expr& condition = node.operands[0];
        if (condition->kind != Expr::Kind::kBinary || condition->binary != BinaryOp::kLessEqual) return;
        if (IsConst(condition->operands[0]) && IsIndex(condition->operands[1], var)) add(condition->operands[0]->whole);
      }
      if (node.kind == Expr::Kind::kLoad) {
        const Variance& from = spread_.Of(node.buffer);
        if (from.axis < 0) return;
        const LinearIndex place = ToLinear(node.operands[static_cast<std::size_t>(from.axis)]);
        if (place.atoms.size() != 1 || place.atoms[0].second != 1 || !IsIndex(place.atoms[0].first, var)) return;
        for (const auto& [end, variance] : from.pieces) add(end - place.constant);
      }
    });
    return cuts;
  }

 private:
  static bool IsIndex(const Expr& e, const IndexVar& var) {
    return e->kind == Expr::Kind::kIndex && e->index.id == var.id;
  }

  static bool CanFlip(const Expr& e) { return e->kind == Expr::Kind::kLoad || e->kind == Expr::Kind::kBinary; }

  // Whether what the expression reads is another in each draw.
  bool Varies(const Expr& e) const {
    bool varies = false;
    Visit(e,
          [&](const ExprNode& node) { varies |= node.kind == Expr::Kind::kLoad && spread_.Of(node.buffer).most > 0; });
    return varies;
  }

  const Tensor* InputOf(int buffer) const {
    const Buffer& from = spread_.graph_->buffers()[static_cast<std::size_t>(buffer)];
    if (from.stage >= 0 || from.tensor < 0) return nullptr;
    return &spread_.graph_->problem().tensors[static_cast<std::size_t>(from.tensor)];
  }

  bool DependsOn(const Expr& e, int tensor) const {
    bool depends = false;
    Visit(e, [&](const ExprNode& node) {
      depends |= node.kind == Expr::Kind::kLoad &&
                 (*spread_.depends_)[static_cast<std::size_t>(node.buffer)].count(tensor) > 0;
    });
    return depends;
  }

  // Whether an index of the load hangs on inputs.
  bool PlaceVaries(const Expr& load) const {
    return std::ranges::any_of(load->operands, [&](const Expr& index) { return Varies(index); });
  }

  Value OfLoad(const Expr& e, const Pieces& pieces) {
    const Variance& from = spread_.Of(e->buffer);
    Value value{from.most, from.flips};
    if (PlaceVaries(e)) {
      // Another draw is at another place, where there is another element.
      const Tensor* drawn = InputOf(e->buffer);
      value.variance = drawn ? std::max(from.most, VarianceOf(drawn->generator)) : kInfinity;
      return value;
    }
    if (from.axis < 0) return value;
    const auto [low, high] = PlaceOf(e->operands[static_cast<std::size_t>(from.axis)], pieces);
    double most = 0;
    std::int64_t begin = 0;
    for (const auto& [end, variance] : from.pieces) {
      if (static_cast<double>(begin) <= high && static_cast<double>(end) > low) most = std::max(most, variance);
      begin = end;
    }
    value.variance = most;
    return value;
  }

  static std::pair<double, double> PlaceOf(const Expr& index, const Pieces& pieces) {
    const LinearIndex sum = ToLinear(index);
    double low = static_cast<double>(sum.constant), high = low;
    for (const auto& [atom, coefficient] : sum.atoms) {
      auto [a, b] = IndexRange(atom);
      if (atom->kind == Expr::Kind::kIndex) {
        if (const auto it = pieces.find(atom->index.id); it != pieces.end()) {
          a = static_cast<double>(it->second.first);
          b = static_cast<double>(it->second.second - 1);
        }
      }
      const auto c = static_cast<double>(coefficient);
      low += c > 0 ? c * a : c * b;
      high += c > 0 ? c * b : c * a;
    }
    return {low, high};
  }

  Value OfUnary(const Expr& e, const Pieces& pieces) {
    Value x = Do(e->operands[0], pieces);
    switch (e->unary) {
      case UnaryOp::kNeg: return x;
      case UnaryOp::kTanh:
      case UnaryOp::kSin:
      case UnaryOp::kAtan:
      case UnaryOp::kAsinh: return x;  // odd, and nowhere steeper than 1
      case UnaryOp::kErf: return {x.variance * 4 / 3.14159265358979323846, x.flips};
      case UnaryOp::kAbs:
      case UnaryOp::kCos: return {x.variance, {}};
      default: return {x.variance == 0 ? 0 : kInfinity, {}};
    }
  }

  Value OfBinary(const Expr& e, const Pieces& pieces) {
    const Expr &a = e->operands[0], &b = e->operands[1];
    const Value x = Do(a, pieces), y = Do(b, pieces);
    switch (e->binary) {
      case BinaryOp::kAdd:
      case BinaryOp::kSub: {
        const double deviation = std::sqrt(x.variance) + std::sqrt(y.variance);
        Value sum{deviation * deviation, {}};
        // Both sides have to turn negative at once, and neither may hang on what turns the other.
        if (!x.flips.empty() && !y.flips.empty()) {
          const bool apart = std::none_of(x.flips.begin(), x.flips.end(), [&](int t) { return DependsOn(b, t); }) &&
                             std::none_of(y.flips.begin(), y.flips.end(), [&](int t) { return DependsOn(a, t); });
          if (x.flips == y.flips || apart) {
            sum.flips = x.flips;
            sum.flips.insert(y.flips.begin(), y.flips.end());
          }
        }
        return sum;
      }
      case BinaryOp::kMul:
      case BinaryOp::kDiv: {
        if (IsConst(b)) {
          const double by = e->binary == BinaryOp::kMul ? b->real : 1 / b->real;
          return {Times(x.variance, by * by), x.flips};
        }
        if (e->binary == BinaryOp::kMul && IsConst(a)) return {Times(y.variance, a->real * a->real), y.flips};
        return {x.variance == 0 && y.variance == 0 ? 0 : kInfinity, {}};
      }
      case BinaryOp::kMax:
      case BinaryOp::kMin: {
        if (IsConst(b) || IsConst(a)) {
          const Value& moving = IsConst(b) ? x : y;
          const Expr& bound = IsConst(b) ? b : a;
          return {moving.variance * (bound->real == 0 && !moving.flips.empty() ? 0.5 : 1), {}};
        }
        return {x.variance + y.variance, {}};
      }
      default: return {x.variance == 0 && y.variance == 0 ? 0 : kInfinity, {}};
    }
  }

  Value OfSelect(const Expr& e, const Pieces& pieces) {
    const Expr& condition = e->operands[0];
    if (HasLoad(condition)) {
      // max(x, 0) and the like, written as a choice, is left to the unbounded.
      return {Varies(e) ? kInfinity : 0, {}};
    }
    if (condition->kind == Expr::Kind::kBinary && condition->binary == BinaryOp::kLessEqual &&
        IsConst(condition->operands[0])) {
      const auto [low, high] = PlaceOf(condition->operands[1], pieces);
      const auto bound = static_cast<double>(condition->operands[0]->whole);
      if (low >= bound) return Do(e->operands[1], pieces);
      if (high < bound) return Do(e->operands[2], pieces);
    }
    const Value a = Do(e->operands[1], pieces), b = Do(e->operands[2], pieces);
    const auto still = [](const Expr& side) { return IsConst(side) && side->real == 0; };  // as its negative is
    std::set<int> flips = still(e->operands[2]) ? a.flips : still(e->operands[1]) ? b.flips : std::set<int>{};
    return {std::max(a.variance, b.variance), std::move(flips)};
  }

  Value OfReduce(const Expr& e, const Pieces& pieces) {
    if (!IsReal(e->operands[0])) return {};
    if (e->reduce == ReduceOp::kMax || e->reduce == ReduceOp::kMin) return {Do(e->operands[0], pieces).variance, {}};
    if (e->reduce != ReduceOp::kSum) return {};
    double terms = 1;
    for (const auto& var : e->over) terms *= static_cast<double>(var.extent);
    const Expr& term = e->operands[0];
    if (term->kind == Expr::Kind::kBinary && term->binary == BinaryOp::kMul) {
      for (int side = 0; side < 2; ++side) {
        const Expr& weight = term->operands[static_cast<std::size_t>(side)];
        const Expr& x = term->operands[static_cast<std::size_t>(1 - side)];
        if (const auto value = Contraction(e->over, weight, x, pieces)) return *value;
      }
    }
    if (const auto draws = SumOfDraws(*spread_.graph_, *spread_.symbolic_, *e)) {
      // Parameters do not vary; counting them as inputs does not make it less.
      return {draws->deviation * draws->deviation, {}};
    }
    const Value value = Do(term, pieces);
    return {Times(value.variance, terms * terms), value.flips};  // all may pull one way
  }

  // Sum over k of weight[k] * x[k], each weight drawn once and around zero.
  std::optional<Value> Contraction(const std::vector<IndexVar>& over, const Expr& weight, const Expr& x,
                                   const Pieces& pieces) {
    if (weight->kind != Expr::Kind::kLoad) return std::nullopt;
    const Tensor* tensor = InputOf(weight->buffer);
    if (!tensor || tensor->role != Role::kParameter) return std::nullopt;
    const auto square = PlaceVaries(weight) ? std::nullopt : CentredSquare(tensor->generator);
    const int which = spread_.graph_->buffers()[static_cast<std::size_t>(weight->buffer)].tensor;
    if (!square || DependsOn(x, which)) return std::nullopt;
    for (const auto& var : over) {
      const bool names = std::any_of(weight->operands.begin(), weight->operands.end(), [&](const Expr& index) {
        const LinearIndex place = ToLinear(index);
        return std::any_of(place.atoms.begin(), place.atoms.end(),
                           [&](const auto& part) { return IsIndex(part.first, var); });
      });
      if (!names) return std::nullopt;
    }
    // One index may be cut into pieces, so that what is concatenated counts by its share.
    double sum = 0, terms = 1;
    for (const auto& var : over) terms *= static_cast<double>(var.extent);
    const IndexVar* cut = nullptr;
    std::set<std::int64_t> cuts;
    for (const auto& var : over) {
      if (cuts.empty()) cuts = Cuts(x, var);
      if (!cuts.empty() && !cut) cut = &var;
    }
    if (!cut) {
      sum = Times(terms, Do(x, pieces).variance);
    } else {
      cuts.insert(cut->extent);
      std::int64_t begin = 0;
      for (const std::int64_t end : cuts) {
        Pieces inner = pieces;
        inner[cut->id] = {begin, end};
        sum +=
            Times(terms * static_cast<double>(end - begin) / static_cast<double>(cut->extent), Do(x, inner).variance);
        begin = end;
      }
    }
    return Value{Times(*square, sum), {which}};
  }

  const Spread& spread_;
};

Spread::Spread(const Graph& graph, const Symbolic& symbolic, const std::vector<std::set<int>>& depends)
    : graph_(&graph), symbolic_(&symbolic), depends_(&depends), variances_(graph.buffers().size()) {
  for (std::size_t b = 0; b < variances_.size(); ++b) {
    const Buffer& buffer = graph.buffers()[b];
    if (buffer.stage >= 0 || buffer.tensor < 0) continue;
    const Tensor& tensor = graph.problem().tensors[static_cast<std::size_t>(buffer.tensor)];
    if (tensor.role == Role::kInput) {
      variances_[b].most = VarianceOf(tensor.generator);
    } else if (CentredSquare(tensor.generator)) {
      variances_[b].flips = {buffer.tensor};
    }
  }
}

void Spread::Define(std::size_t s) {
  const Stage& stage = graph_->stages()[s];
  Variance& result = variances_[static_cast<std::size_t>(stage.buffer)];
  if (symbolic_->Constant(stage.buffer)) return;
  const auto& depends = (*depends_)[static_cast<std::size_t>(stage.buffer)];
  const bool varies = std::any_of(depends.begin(), depends.end(), [&](int t) {
    return graph_->problem().tensors[static_cast<std::size_t>(t)].role == Role::kInput;
  });
  if (stage.sequence >= 0 || stage.value->type != ScalarType::kReal) {
    result.most = varies ? kInfinity : 0;
    return;
  }
  const Expr& value = symbolic_->Value(s);
  SpreadVisitor visitor(*this);
  for (std::size_t d = 0; d < stage.vars.size(); ++d) {
    std::set<std::int64_t> cuts = visitor.Cuts(value, stage.vars[d]);
    if (cuts.empty()) continue;
    cuts.insert(stage.vars[d].extent);
    result.axis = static_cast<int>(d);
    std::int64_t begin = 0;
    for (const std::int64_t end : cuts) {
      const double variance = visitor.Do(value, {{stage.vars[d].id, {begin, end}}}).variance;
      result.pieces.emplace_back(end, variance);
      result.most = std::max(result.most, variance);
      begin = end;
    }
    return;
  }
  const auto found = visitor.Do(value, {});
  result.most = found.variance;
  result.flips = found.flips;
}

}  // namespace hone
