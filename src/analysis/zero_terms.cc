#include "analysis/zero_terms.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/hidden.h"
#include "analysis/range.h"
#include "expr/affine.h"
#include "graph/graph_builder.h"

namespace hone {
namespace {

constexpr double kTermsKept = 0.9;  // of all, at most, where a sum is made shorter

// Places of an index, from the first to before the end; none where that is no later.
struct Span {
  std::int64_t begin = 0, end = 0;
  bool none() const { return begin >= end; }
  std::int64_t count() const { return std::max<std::int64_t>(end - begin, 0); }
};
Span All(std::int64_t extent) { return {0, extent}; }
Span Both(Span a, Span b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }
Span Either(Span a, Span b) {
  if (a.none()) return b;
  if (b.none()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

std::int64_t Floor(std::int64_t a, std::int64_t by) { return a / by - (a % by < 0 ? 1 : 0); }

// At which places of an index an expression may be another number than 0; what is between counts, too.
class NonZeros {
 public:
  explicit NonZeros(const Graph& graph) : graph_(graph), ranges_(graph) {}

  Span Of(const Expr& e, const IndexVar& var) {
    std::unordered_map<const ExprNode*, Span> done;
    return Of(e, var, done);
  }

 private:
  using Done = std::unordered_map<const ExprNode*, Span>;

  Span Of(const Expr& e, const IndexVar& var, Done& done) {
    if (const auto known = done.find(e.get()); known != done.end()) return known->second;
    const Span span = Both(Worked(e, var, done), All(var.extent));
    done[e.get()] = span;
    return span;
  }

  Span Worked(const Expr& e, const IndexVar& var, Done& done) {
    const auto of = [&](std::size_t operand) { return Of(e->operands[operand], var, done); };
    switch (e->kind) {
      case Expr::Kind::kConst: return NumberOf(*e) == 0 ? Span{} : All(var.extent);
      case Expr::Kind::kLoad: return OfLoad(*e, var);
      case Expr::Kind::kCast: return of(0);
      case Expr::Kind::kUnary: return e->unary == UnaryOp::kNeg || e->unary == UnaryOp::kAbs ? of(0) : All(var.extent);
      case Expr::Kind::kReduce: return e->reduce == ReduceOp::kSum ? of(0) : All(var.extent);
      case Expr::Kind::kSelect: {
        const Condition condition = WhereMet(e->operands[0], var);
        return Either(Both(of(1), condition.met), Both(of(2), condition.missed));
      }
      case Expr::Kind::kBinary:
        if (e->binary == BinaryOp::kAdd || e->binary == BinaryOp::kSub) return Either(of(0), of(1));
        if (e->binary == BinaryOp::kMul) {
          const Span a = IsFinite(e->operands[1]) ? of(0) : All(var.extent);
          return IsFinite(e->operands[0]) ? Both(a, of(1)) : a;
        }
        return All(var.extent);
      default: return All(var.extent);
    }
  }

  bool IsFinite(const Expr& e) {
    const Range range = ranges_.Of(e);
    return !range.maybe_nan && std::isfinite(range.low) && std::isfinite(range.high);
  }

  // Where a condition may hold and where it may not.
  struct Condition {
    Span met, missed;
  };
  Condition WhereMet(const Expr& e, const IndexVar& var) {
    const Condition unknown = {All(var.extent), All(var.extent)};
    if (e->kind == Expr::Kind::kUnary && e->unary == UnaryOp::kNot) {
      const Condition other = WhereMet(e->operands[0], var);
      return {other.missed, other.met};
    }
    if (e->kind != Expr::Kind::kBinary) return unknown;
    if (e->binary == BinaryOp::kAnd || e->binary == BinaryOp::kOr) {
      const Condition a = WhereMet(e->operands[0], var), b = WhereMet(e->operands[1], var);
      if (e->binary == BinaryOp::kAnd) return {Both(a.met, b.met), Either(a.missed, b.missed)};
      return {Either(a.met, b.met), Both(a.missed, b.missed)};
    }
    if (e->binary != BinaryOp::kLess && e->binary != BinaryOp::kLessEqual) return unknown;
    const auto left = AffineOf(e->operands[0]), right = AffineOf(e->operands[1]);
    if (!left || !right) return unknown;
    const Affine less = Combine(*left, *right, -1);  // below 0, or at most 0, where it holds
    if (less.coefficient.size() != 1 || less.of(var) == 0) return unknown;
    const std::int64_t most = -less.constant - (e->binary == BinaryOp::kLess ? 1 : 0), times = less.of(var);
    if (times > 0) {
      const std::int64_t end = Floor(most, times) + 1;
      return {{0, end}, {end, var.extent}};
    }
    const std::int64_t begin = -Floor(most, -times);
    return {{begin, var.extent}, {0, begin}};
  }

  Span OfLoad(const ExprNode& load, const IndexVar& var) {
    Span span = All(var.extent);
    if (load.may_miss) return span;
    // Whether the index names a place of some dimension together with others, or may do so of what this is a reshape
    // of.
    bool shared = SourceOf(graph_, load.buffer) != load.buffer;
    for (std::size_t d = 0; d < load.operands.size(); ++d) {
      std::vector<IndexVar> others;
      bool named = false;
      Visit(load.operands[d], [&](const ExprNode& node) {
        if (node.kind != Expr::Kind::kIndex) return;
        if (node.index.id == var.id) {
          named = true;
        } else {
          others.push_back(node.index);
        }
      });
      auto place = AffineOf(load.operands[d]);
      shared |= named && (!place || !others.empty());
      if (!place) continue;
      const std::int64_t times = place->of(var);
      if (times < 0) continue;
      const Span there = OfBuffer(load.buffer, d);
      place->coefficient.erase(var.id);
      const WholeRange rest = RangeOf(*place, others);
      if (times == 0) {
        if (rest.high < there.begin || rest.low >= there.end) return {};
        continue;
      }
      span = Both(span, {-Floor(rest.high - there.begin, times), Floor(there.end - 1 - rest.low, times) + 1});
    }
    if (!shared || span.count() < var.extent || depth_ == kDeepest) return span;
    // What no dimension says by itself its definition may, at these places.
    const auto element = ElementOf(graph_, load);
    if (!element || !UsesIndex(*element, var.id)) return span;
    ++depth_;
    span = Of(*element, var);
    --depth_;
    return span;
  }

  Span OfBuffer(int buffer, std::size_t dim) {
    const auto key = std::pair(buffer, dim);
    if (const auto known = buffers_.find(key); known != buffers_.end()) return known->second;
    const Buffer& of = graph_.buffers()[static_cast<std::size_t>(buffer)];
    Span span = All(of.shape[dim]);
    if (nested_ == kNested) return span;
    ++nested_;
    if (of.stage >= 0 && ElementCount(of.shape) > 0) {
      const Stage& stage = graph_.stages()[static_cast<std::size_t>(of.stage)];
      if (stage.reshape_of >= 0) {
        span = OfReshaped(of.shape, stage.reshape_of, dim);
      } else if (stage.sequence < 0) {
        span = Of(stage.value, stage.vars[dim]);
      }
    }
    --nested_;
    return buffers_[key] = span;
  }

  // A dimension that is one of the buffer's own, has the outer part of one, or one as its outer part.
  Span OfReshaped(const Shape& shape, int buffer, std::size_t dim) {
    const Shape& from = graph_.buffers()[static_cast<std::size_t>(buffer)].shape;
    const auto strides = DenseStrides(shape), own = DenseStrides(from);
    for (std::size_t d = 0; d < from.size(); ++d) {
      if (from[d] == 1 || own[d] * from[d] != strides[dim] * shape[dim]) continue;  // both end at the same place
      const Span span = OfBuffer(buffer, d);
      if (own[d] % strides[dim] == 0) {
        const std::int64_t parts = own[d] / strides[dim];
        return {span.begin * parts, span.end * parts};
      }
      if (strides[dim] % own[d] != 0) break;
      const std::int64_t parts = strides[dim] / own[d];
      return {span.begin / parts, (span.end + parts - 1) / parts};
    }
    return All(shape[dim]);
  }

  static constexpr int kDeepest = 8;   // definitions that are put in place of loads
  static constexpr int kNested = 500;  // buffers that are made of buffers
  const Graph& graph_;
  int depth_ = 0, nested_ = 0;
  DefinedRanges ranges_;
  std::map<std::pair<int, std::size_t>, Span> buffers_;
};

// The expression with shorter sums.
class Shorter {
 public:
  explicit Shorter(NonZeros& non_zeros) : non_zeros_(non_zeros) {}
  bool any() const { return any_; }

  Expr Do(const Expr& e) {
    return memo_.Do(e, [&](const Expr& one) {
      if (one->operands.empty()) return one;
      std::vector<Expr> operands;
      bool same = true;
      for (const Expr& operand : one->operands) {
        operands.push_back(Do(operand));
        same &= operands.back().get() == operand.get();
      }
      const Expr made = same ? one : WithOperands(one, std::move(operands));
      return made->kind == Expr::Kind::kReduce && made->reduce == ReduceOp::kSum ? Sum(made) : made;
    });
  }

 private:
  Expr Sum(const Expr& sum) {
    std::vector<IndexVar> over = sum->over;
    Expr body = sum->operands[0];
    for (IndexVar& var : over) {
      const Span span = non_zeros_.Of(body, var);
      if (var.extent == 0 || static_cast<double>(span.count()) > kTermsKept * static_cast<double>(var.extent)) continue;
      any_ = true;
      if (span.none()) return Cast(0, sum->type);
      const IndexVar shorter = NewIndex(span.count());
      const int was = std::exchange(var, shorter).id;
      body = Substitute(body, [&](const IndexVar& index) { return index.id == was ? shorter + span.begin : Expr(); });
    }
    return Reduce(ReduceOp::kSum, std::move(over), std::move(body));
  }

  NonZeros& non_zeros_;
  ExprMemo memo_;
  bool any_ = false;
};

}  // namespace

std::optional<Graph> WithoutZeroTerms(const Graph& graph) {
  NonZeros non_zeros(graph);
  GraphBuilder builder(graph);
  const auto live = LiveStages(graph);
  bool any = false;
  for (std::size_t s = 0; s < live.size(); ++s) {
    const Stage& stage = graph.stages()[s];
    if (!live[s] || stage.reshape_of >= 0 || !HasReduce(stage.value)) continue;
    Shorter shorter(non_zeros);
    Expr value = shorter.Do(stage.value);
    if (!shorter.any()) continue;
    any = true;
    builder.DefineStep(stage.buffer, std::move(value));
  }
  if (!any) return std::nullopt;
  return builder.Take();
}

}  // namespace hone
