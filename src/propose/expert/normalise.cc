#include "propose/expert/normalise.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "analysis/interval.h"
#include "expr/affine.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

// More splits than any operator needs: each makes an index smaller, but a bound is a bound.
constexpr int kMostSplits = 32;

std::int64_t FloorDiv(std::int64_t a, std::int64_t b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }

bool IsDivision(const ExprNode& node) {
  return node.kind == Expr::Kind::kBinary &&
         (node.binary == BinaryOp::kFloorDiv || node.binary == BinaryOp::kFloorMod) && node.type == ScalarType::kInt &&
         node.operands[1]->kind == Expr::Kind::kConst && node.operands[1]->whole > 1;
}

// a = by * whole + rest, the coefficients of `rest` being remainders.
struct Parts {
  Affine whole, rest;
};
Parts Divide(const Affine& a, std::int64_t by) {
  Parts parts;
  for (const auto& [id, coefficient] : a.coefficient) {
    if (coefficient % by == 0) {
      parts.whole.coefficient[id] = coefficient / by;
    } else {
      parts.rest.coefficient[id] = coefficient;
    }
  }
  parts.whole.constant = FloorDiv(a.constant, by);
  parts.rest.constant = a.constant - parts.whole.constant * by;
  return parts;
}

Expr SimplifyDivision(const Expr& e) {
  const auto a = AffineOf(e->operands[0]);
  if (!a) return {};
  const std::int64_t by = e->operands[1]->whole;
  const auto vars = VarsOf(e->operands[0]);
  const Parts parts = Divide(*a, by);
  const WholeRange range = RangeOf(parts.rest, vars);
  const bool quotient = e->binary == BinaryOp::kFloorDiv;
  if (range.low >= 0 && range.high < by) return ToExpr(quotient ? parts.whole : parts.rest, vars);
  if (parts.whole == Affine{}) return {};
  const Expr rest = Apply(e->binary, ToExpr(parts.rest, vars), by);
  return quotient ? ToExpr(parts.whole, vars) + rest : rest;
}

// The values of b - a, both affine.
std::optional<WholeRange> Apart(const Expr& a, const Expr& b) {
  const auto from = AffineOf(a), to = AffineOf(b);
  if (!from || !to) return std::nullopt;
  auto vars = VarsOf(a);
  for (const auto& var : VarsOf(b)) {
    if (std::none_of(vars.begin(), vars.end(), [&](const IndexVar& v) { return v.id == var.id; })) vars.push_back(var);
  }
  return RangeOf(Combine(*to, *from, -1), vars);
}

Expr SimplifyExtreme(const Expr& e) {
  const Expr &a = e->operands[0], &b = e->operands[1];
  const auto more = Apart(a, b);
  if (!more) return {};
  if (more->low >= 0) return e->binary == BinaryOp::kMin ? a : b;
  if (more->high <= 0) return e->binary == BinaryOp::kMin ? b : a;
  return {};
}

Expr SimplifyComparison(const Expr& e) {
  const auto more = Apart(e->operands[0], e->operands[1]);
  if (!more) return {};
  switch (e->binary) {
    case BinaryOp::kLess:
      if (more->low > 0) return Expr::Bool(true);
      if (more->high <= 0) return Expr::Bool(false);
      return {};
    case BinaryOp::kLessEqual:
      if (more->low >= 0) return Expr::Bool(true);
      if (more->high < 0) return Expr::Bool(false);
      return {};
    default: {
      const bool apart = more->low > 0 || more->high < 0, same = more->low == 0 && more->high == 0;
      if (apart || same) return Expr::Bool(same == (e->binary == BinaryOp::kEqual));
      return {};
    }
  }
}

// A bit of a number: none where all that is added up is a multiple of the next bit, or where the number is below it.
Expr SimplifyBit(const Expr& e) {
  const auto a = AffineOf(e->operands[0]);
  const std::int64_t bit = e->operands[1]->kind == Expr::Kind::kConst ? e->operands[1]->whole : 0;
  if (!a || bit <= 0 || (bit & (bit - 1)) != 0 || bit > std::int64_t{1} << 61) return {};
  const WholeRange range = RangeOf(*a, VarsOf(e->operands[0]));
  const bool multiple = a->constant % (2 * bit) == 0 &&
                        std::ranges::all_of(a->coefficient, [&](const auto& of) { return of.second % (2 * bit) == 0; });
  return multiple || (range.low >= 0 && range.high < bit) ? Expr(std::int64_t{0}) : Expr();
}

// What types alone say.
class TypeReader : public RangeReader {
 protected:
  Range OfLoad(const ExprNode& load) override {
    const double infinite = std::numeric_limits<double>::infinity();
    return {.low = -infinite, .high = infinite, .whole = load.type != ScalarType::kReal};
  }
};

// To a whole number, of one: of what is only counted, a sum in reals too.
Expr SimplifyRounding(const Expr& e) {
  constexpr UnaryOp kRoundings[] = {UnaryOp::kFloor, UnaryOp::kCeil, UnaryOp::kTrunc, UnaryOp::kRound};
  const bool rounds = std::ranges::find(kRoundings, e->unary) != std::end(kRoundings);
  return rounds && TypeReader().Of(e->operands[0]).whole ? e->operands[0] : Expr();
}

// What a fold over no element is.
Expr Identity(const Expr& fold) {
  const double infinite = std::numeric_limits<double>::infinity();
  switch (fold->reduce) {
    case ReduceOp::kProd: return Cast(1, fold->type);
    case ReduceOp::kAll: return Expr::Bool(true);
    case ReduceOp::kMax:
      return fold->type == ScalarType::kReal ? Expr(-infinite) : Expr(std::numeric_limits<std::int64_t>::min());
    case ReduceOp::kMin:
      return fold->type == ScalarType::kReal ? Expr(infinite) : Expr(std::numeric_limits<std::int64_t>::max());
    default: return Cast(0, fold->type);
  }
}

// What the same number so many times comes to; null of what is no number, or is the place of one.
Expr OfConstant(const Expr& fold, const std::vector<IndexVar>& over) {
  const Expr& number = fold->operands[0];
  if (!IsConst(number) || IsArg(fold->reduce) || fold->reduce == ReduceOp::kProd) return {};
  if (fold->reduce != ReduceOp::kSum) return Cast(number, fold->type);
  std::int64_t times = 1;
  for (const IndexVar& var : over) times *= var.extent;
  const double all = NumberOf(*number) * static_cast<double>(times);
  return fold->type == ScalarType::kReal ? Expr(all) : Expr(static_cast<std::int64_t>(all));
}

Expr SimplifyFold(const Expr& e) {
  std::vector<IndexVar> over;
  for (const auto& var : e->over) {
    if (var.extent == 0) return Identity(e);
    if (var.extent > 1) over.push_back(var);
  }
  if (const Expr all = OfConstant(e, over)) return all;
  if (over.size() == e->over.size()) return {};
  if (!over.empty()) return Reduce(e->reduce, std::move(over), e->operands[0]);
  if (e->reduce == ReduceOp::kArgMax || e->reduce == ReduceOp::kArgMin) return std::int64_t{0};
  return Cast(e->operands[0], e->type);
}

struct Split {
  int id = -1;
  std::int64_t inner = 1;
};

// An index whose split makes some division affine: what is left of the dividend, each index cut to the part that the
// division sees, stays below the divisor.
std::optional<Split> FindSplit(const Expr& value) {
  std::optional<Split> split;
  Visit(value, [&](const ExprNode& node) {
    if (split || !IsDivision(node)) return;
    const auto a = AffineOf(node.operands[0]);
    if (!a) return;
    const std::int64_t by = node.operands[1]->whole;
    const Parts parts = Divide(*a, by);
    std::int64_t reach = parts.rest.constant;
    std::optional<Split> found;
    for (const auto& var : VarsOf(node.operands[0])) {
      const std::int64_t step = parts.rest.of(var), inner = step > 0 && by % step == 0 ? by / step : 0;
      if (step < 0) return;
      const bool cut = inner > 1 && inner < var.extent && var.extent % inner == 0;
      if (cut) found = Split{var.id, inner};
      reach += step * ((cut ? inner : var.extent) - 1);
    }
    if (reach < by) split = found;
  });
  return split;
}

}  // namespace

Expr Simplify(const Expr& expr) {
  return Rewrite(expr, [](const Expr& e) -> Expr {
    if (e->kind == Expr::Kind::kReduce) return SimplifyFold(e);
    if (e->kind == Expr::Kind::kIndex && e->index.extent == 1) return std::int64_t{0};
    if (e->kind == Expr::Kind::kUnary) return SimplifyRounding(e);
    if (e->kind != Expr::Kind::kBinary) return {};
    if (IsDivision(*e)) return SimplifyDivision(e);
    if (e->type == ScalarType::kInt) {
      const auto affine = AffineOf(e);
      if (affine && affine->coefficient.empty()) return affine->constant;
      if (e->binary == BinaryOp::kMin || e->binary == BinaryOp::kMax) return SimplifyExtreme(e);
      if (e->binary == BinaryOp::kAnd) return SimplifyBit(e);
    }
    if (e->binary >= BinaryOp::kLess && e->binary <= BinaryOp::kNotEqual && e->operands[0]->type == ScalarType::kInt)
      return SimplifyComparison(e);
    return {};
  });
}

Normal Normalise(std::vector<IndexVar> space, Expr value) {
  std::erase_if(space, [](const IndexVar& var) { return var.extent == 1; });
  value = Simplify(value);
  for (int i = 0; i < kMostSplits; ++i) {
    const auto split = FindSplit(value);
    if (!split) break;
    std::optional<IndexVar> outer, inner;
    const auto divide = [&](std::vector<IndexVar>& vars) {
      for (std::size_t d = 0; d < vars.size(); ++d) {
        if (vars[d].id != split->id) continue;
        if (!outer) {
          outer = NewIndex(vars[d].extent / split->inner);
          inner = NewIndex(split->inner);
        }
        vars[d] = *inner;
        vars.insert(vars.begin() + static_cast<std::ptrdiff_t>(d), *outer);
        return true;
      }
      return false;
    };
    divide(space);
    value = Rewrite(value, [&](const Expr& e) -> Expr {
      if (e->kind != Expr::Kind::kReduce) return {};
      auto over = e->over;
      if (!divide(over)) return {};
      return Reduce(e->reduce, std::move(over), e->operands[0]);
    });
    if (!outer) break;
    value = Simplify(Substitute(value, [&](const IndexVar& var) {
      return var.id == split->id ? Expr(*outer) * split->inner + Expr(*inner) : Expr();
    }));
  }
  return {std::move(space), std::move(value)};
}

}  // namespace hone::expert
