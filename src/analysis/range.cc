#include "analysis/range.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "analysis/sum_of_draws.h"

namespace hone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool IsReal(const Expr& e) { return e->type == ScalarType::kReal; }

}  // namespace

Range RangeOfInput(const Tensor& tensor) {
  struct Visitor {
    bool real;
    Range operator()(const Uniform& uniform) const { return Between(uniform.low, uniform.high); }
    Range operator()(const Normal& normal) const {
      return Between(normal.mean - kDeviations * normal.deviation, normal.mean + kDeviations * normal.deviation);
    }
    Range operator()(const IntegerRange& range) const {
      return Between(static_cast<double>(range.low), static_cast<double>(range.high - 1));
    }
    Range operator()(const Constant& constant) const { return Between(constant.value, constant.value); }
    Range operator()(const FromFile&) const { return {-kInfinity, kInfinity, real}; }
  };
  Range range = std::visit(Visitor{IsFloat(tensor.dtype)}, tensor.generator);
  range.whole |= !IsFloat(tensor.dtype);
  return range;
}

class RangeVisitor : public RangeReader {
 public:
  explicit RangeVisitor(const Ranges& ranges) : ranges_(ranges) {}

 protected:
  Range OfLoad(const ExprNode& load) override { return ranges_.Of(load.buffer); }

  Range OfBinary(const Expr& e) override {
    const Expr &a = e->operands[0], &b = e->operands[1];
    Range range = RangeReader::OfBinary(e);
    // An element minus the largest of those that it is one of.
    if (e->binary == BinaryOp::kSub) {
      if (IsOneOf(a, b, ReduceOp::kMax)) range.high = std::min(range.high, 0.0);
      if (IsOneOf(a, b, ReduceOp::kMin)) range.low = std::max(range.low, 0.0);
    }
    // An element over the sum of those that it is one of, all positive.
    if (e->binary == BinaryOp::kDiv && IsOneOf(a, b, ReduceOp::kSum)) {
      const Range x = RangeReader::Of(a);
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

  Range OfReduce(const Expr& e) override {
    Range range = RangeReader::OfReduce(e);
    if (e->reduce != ReduceOp::kSum) return range;
    if (const auto draws = SumOfDraws(*ranges_.graph_, *ranges_.symbolic_, *e)) {
      const double room = kDeviations * draws->deviation + 0.01 * std::abs(draws->mean);
      range.low = std::max(range.low, draws->mean - room);
      range.high = std::min(range.high, draws->mean + room);
    }
    return range;
  }

 private:
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

  const Ranges& ranges_;
};

Ranges::Ranges(const Graph& graph, const Symbolic& symbolic)
    : graph_(&graph), symbolic_(&symbolic), ranges_(graph.buffers().size(), {-kInfinity, kInfinity}) {
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
    range = Between(*constant, *constant);
  } else {
    range = AsStored(graph_->buffers()[static_cast<std::size_t>(stage.buffer)].dtype,
                     RangeVisitor(*this).RangeReader::Of(symbolic_->Value(s)));
  }
  return range;
}

Range DefinedRanges::Of(int buffer) {
  const auto [it, fresh] = ranges_.emplace(buffer, Range{});
  if (fresh) {
    // Where it is met again while it is worked out, as the steps of a sequence meet themselves.
    const Buffer& of = graph_->buffers()[static_cast<std::size_t>(buffer)];
    it->second = RangeOfType(of.dtype);
    if (depth_ < kDeepest) {
      ++depth_;
      const Range range = Worked(of);
      --depth_;
      ranges_[buffer] = range;
    }
  }
  return ranges_[buffer];
}

Range DefinedRanges::Worked(const Buffer& buffer) {
  const Range all = RangeOfType(buffer.dtype);
  if (buffer.stage >= 0) {
    const Stage& stage = graph_->stages()[static_cast<std::size_t>(buffer.stage)];
    if (stage.sequence < 0) return AsStored(buffer.dtype, RangeReader::Of(stage.value));
    return AsStored(buffer.dtype, OfSteps(stage).value_or(all));
  }
  if (IsFloat(buffer.dtype) || Bytes(buffer.dtype) <= 2 || buffer.tensor < 0) return all;
  return AsStored(buffer.dtype, RangeOfInput(graph_->problem().tensors[static_cast<std::size_t>(buffer.tensor)]));
}

Range DefinedRanges::OfReduce(const Expr& e) {
  // Reals add up to anything: what they are made of is not looked at.
  const bool sum = e->reduce == ReduceOp::kSum || e->reduce == ReduceOp::kProd;
  return sum && e->type == ScalarType::kReal ? RangeOfType(DType::kF64) : RangeReader::OfReduce(e);
}

// The sum of all elements up to each: steps that add to the one before what hangs on none.
std::optional<Range> DefinedRanges::OfSteps(const Stage& stage) {
  const Expr& value = stage.value->kind == Expr::Kind::kCast ? stage.value->operands[0] : stage.value;
  if (!IsBinary(value, BinaryOp::kAdd)) return std::nullopt;
  const auto is_itself = [&](const ExprNode& node) {
    return node.kind == Expr::Kind::kLoad && node.buffer == stage.buffer;
  };
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const Expr &before = value->operands[side], &added = value->operands[1 - side];
    if (before->kind != Expr::Kind::kSelect || !is_itself(*before->operands[2])) continue;
    bool on_itself = false;
    for (const Expr* other : {&before->operands[1], &added})
      Visit(*other, [&](const ExprNode& node) { on_itself |= is_itself(node); });
    if (on_itself) continue;
    const Range first = RangeReader::Of(before->operands[1]), each = RangeReader::Of(added);
    const auto steps = static_cast<double>(stage.vars[static_cast<std::size_t>(stage.along)].extent);
    return Range{first.low + steps * std::min(each.low, 0.0), first.high + steps * std::max(each.high, 0.0),
                 first.maybe_nan || each.maybe_nan, false, first.whole && each.whole};
  }
  return std::nullopt;
}

}  // namespace hone
