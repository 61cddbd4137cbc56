// A sum over rows of which it reads the softmax: the divergence of two distributions, an entropy, a cross entropy with
// soft targets. The softmax of a row need not be written: what the sum takes from it is exp(x - its largest), and what
// is the same for the whole row goes out of the sum.
//
//   sum(p * log(p) - p * log_softmax(y)), p = softmax(x)
//     = sum(e * ((x - largest x) - (y - largest y))) / sum(e) - log(sum(e)) + log(sum(exp(y - largest y))),
//   e = exp(x - largest x)
//
// All of these sums are of one pass behind the maxima.
#include <algorithm>
#include <cmath>
#include <set>

#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

constexpr int kLongestTerms = 400;    // as of what is fused (fuse.cc)
constexpr std::size_t kMostSums = 4;  // that rows leave, beside what their softmaxes need

// What a row's statistics make of an expression over its elements.
class RowTerms {
 public:
  explicit RowTerms(const std::vector<Piece>& statistics) : statistics_(statistics) {
    for (const Piece& one : statistics) {
      bool reads = false;
      EachExpr(one, [&](const Expr& expr) { reads |= HasStatistic(expr); });
      known_.insert(one.buffer);
      if (reads) late_.insert(one.buffer);
    }
    // What reads no other is known after the first pass; who is made of powers by such a one goes along.
    for (const Piece& one : statistics) {
      if (one.fold->op == ReduceOp::kSum && IsPower(one.fold->body) && IsValue(one.fold->finish, kIt))
        powers_.push_back(&one);
    }
  }

  bool has_powers() const { return !powers_.empty(); }

  // A summand: `factor` is the same for a row, `term` reads elements and what the first pass makes; either may be
  // missing, as a 1.
  struct Summand {
    bool negative = false;
    Expr factor, term;
  };

  // The expression as a sum of summands, of which those with equal factors are one. Nothing if it is none.
  std::optional<std::vector<Summand>> Summands(const Expr& value) const {
    const auto all = Split(Simpler(value));
    if (!all) return std::nullopt;
    std::vector<Summand> together;
    for (const Summand& one : *all) {
      const auto same = std::find_if(together.begin(), together.end(), [&](const Summand& other) {
        return one.term && other.term && !SumOf(one.term) && !SumOf(other.term) && SameFactor(one, other);
      });
      if (same == together.end()) {
        together.push_back(one);
      } else {
        same->term = Joined(same->term, one.term, same->negative != one.negative);
      }
    }
    return together;
  }

  // The statistic that sums up just these terms; null: none.
  const Piece* SumOf(const Expr& term) const {
    for (const Piece* one : powers_) {
      if (SameExpr(one->fold->body, term)) return one;
    }
    return nullptr;
  }

 private:
  bool HasStatistic(const Expr& expr) const { return Reads(expr, known_); }
  static bool Reads(const Expr& expr, const std::set<int>& buffers) {
    bool reads = false;
    Visit(expr,
          [&](const ExprNode& node) { reads |= node.kind == Expr::Kind::kLoad && buffers.contains(node.buffer); });
    return reads;
  }
  bool IsOfRow(const Expr& expr) const {
    bool elements = false;
    Visit(expr, [&](const ExprNode& node) {
      elements |= node.kind == Expr::Kind::kLoad && !known_.contains(node.buffer);
      elements |= node.kind == Expr::Kind::kIndex && node.index.extent > 1;
    });
    return !elements;
  }
  // exp(x - the largest x).
  bool IsPower(const Expr& e) const {
    if (!IsUnary(e, UnaryOp::kExp) || !IsBinary(e->operands[0], BinaryOp::kSub)) return false;
    const Expr &x = e->operands[0]->operands[0], &largest = e->operands[0]->operands[1];
    if (largest->kind != Expr::Kind::kLoad) return false;
    return std::any_of(statistics_.begin(), statistics_.end(), [&](const Piece& one) {
      return one.buffer == largest->buffer && one.fold->op == ReduceOp::kMax && SameExpr(one.fold->body, x) &&
             IsValue(one.fold->finish, kIt);
    });
  }
  // A power over its sum.
  bool IsSoft(const Expr& e) const {
    if (!IsBinary(e, BinaryOp::kDiv) || e->operands[1]->kind != Expr::Kind::kLoad) return false;
    const Piece* sum = SumOf(e->operands[0]);
    return sum != nullptr && sum->buffer == e->operands[1]->buffer;
  }
  static Expr Element(const Expr& power) { return power->operands[0]->operands[0]; }

  // The power of a logarithm of a softmax as a softmax; p times something of p and log(p), where p is not zero, as p
  // times that, zero where the element is minus infinity: else it is finite, and its logarithm is a difference.
  Expr Simpler(const Expr& value) const {
    return Rewrite(value, [&](const Expr& e) -> Expr {
      if (IsUnary(e, UnaryOp::kExp) && IsBinary(e->operands[0], BinaryOp::kSub) &&
          IsUnary(e->operands[0]->operands[1], UnaryOp::kLog)) {
        const Expr soft = Exp(e->operands[0]->operands[0]) / e->operands[0]->operands[1]->operands[0];
        return IsSoft(soft) ? soft : Expr();
      }
      if (e->kind != Expr::Kind::kSelect) return {};
      const Expr &condition = e->operands[0], &then = e->operands[1], &otherwise = e->operands[2];
      // A NaN comes through a product.
      if (IsUnary(condition, UnaryOp::kIsNan) && IsSoft(condition->operands[0]) && ConstantNumber(then) &&
          std::isnan(*ConstantNumber(then)) && IsBinary(otherwise, BinaryOp::kMul) &&
          SameExpr(otherwise->operands[0], condition->operands[0]))
        return otherwise;
      if (!IsBinary(condition, BinaryOp::kEqual) || !IsSoft(condition->operands[0]) ||
          ConstantNumber(condition->operands[1]) != 0 || ConstantNumber(then) != 0 ||
          !IsBinary(otherwise, BinaryOp::kMul))
        return {};
      const Expr& soft = condition->operands[0];
      for (const std::size_t first : {0, 1}) {
        const Expr rest = Rewrite(otherwise->operands[1 - first], [&](const Expr& part) -> Expr {
          if (!IsUnary(part, UnaryOp::kLog) || !SameExpr(part->operands[0], soft)) return {};
          return soft->operands[0]->operands[0] - Log(soft->operands[1]);
        });
        if (!SameExpr(otherwise->operands[first], soft) || !ReadsNoMore(rest, soft)) continue;
        return soft * Select(Equal(Element(soft->operands[0]), Expr(-INFINITY)), Expr(0.0), rest);
      }
      return {};
    });
  }
  static bool ReadsNoMore(const Expr& expr, const Expr& than) {
    std::set<int> read;
    Visit(than, [&](const ExprNode& node) {
      if (node.kind == Expr::Kind::kLoad) read.insert(node.buffer);
    });
    bool no_more = true;
    Visit(expr, [&](const ExprNode& node) { no_more &= node.kind != Expr::Kind::kLoad || read.contains(node.buffer); });
    return no_more;
  }

  std::optional<std::vector<Summand>> Split(const Expr& e) const {
    if (IsOfRow(e)) return std::vector<Summand>{{.factor = e, .term = {}}};
    if (!Reads(e, late_)) return std::vector<Summand>{{.factor = {}, .term = e}};
    if (IsUnary(e, UnaryOp::kNeg)) return Negated(Split(e->operands[0]));
    if (e->kind == Expr::Kind::kSelect) {
      if (Reads(e->operands[0], late_) || ConstantNumber(e->operands[1]) != 0) return std::nullopt;
      auto split = Split(e->operands[2]);
      if (!split) return std::nullopt;
      for (Summand& one : *split) one.term = Select(e->operands[0], e->operands[1], one.term ? one.term : Expr(1.0));
      return split;
    }
    if (e->kind != Expr::Kind::kBinary) return std::nullopt;
    auto a = Split(e->operands[0]);
    if (!a) return std::nullopt;
    if (e->binary == BinaryOp::kDiv) {
      if (!IsOfRow(e->operands[1])) return std::nullopt;
      for (Summand& one : *a) one.factor = (one.factor ? one.factor : Expr(1.0)) / e->operands[1];
      return a;
    }
    auto b = Split(e->operands[1]);
    if (!b) return std::nullopt;
    if (e->binary == BinaryOp::kMul) {
      std::vector<Summand> products;
      for (const Summand& x : *a) {
        for (const Summand& y : *b) {
          products.push_back({.negative = x.negative != y.negative,
                              .factor = !x.factor   ? y.factor
                                        : !y.factor ? x.factor
                                                    : x.factor * y.factor,
                              .term = !x.term   ? y.term
                                      : !y.term ? x.term
                                                : Product(x.term, y.term)});
        }
      }
      return products;
    }
    if (e->binary == BinaryOp::kSub) b = Negated(std::move(b));
    if (e->binary != BinaryOp::kAdd && e->binary != BinaryOp::kSub) return std::nullopt;
    a->insert(a->end(), b->begin(), b->end());
    return a;
  }
  static std::optional<std::vector<Summand>> Negated(std::optional<std::vector<Summand>> summands) {
    if (summands) {
      for (Summand& one : *summands) one.negative = !one.negative;
    }
    return summands;
  }
  // Powers come first, and are zero where a minus infinity is.
  Expr Product(const Expr& a, const Expr& b) const {
    const Expr &power = IsPower(b) ? b : a, &other = IsPower(b) ? a : b;
    if (IsBinary(power, BinaryOp::kMul) && IsPower(power->operands[0]))
      return power->operands[0] * (power->operands[1] * other);
    if (IsPower(power) && other->kind == Expr::Kind::kSelect && ConstantNumber(other->operands[2]) == 1 &&
        IsBinary(other->operands[0], BinaryOp::kEqual) && SameExpr(other->operands[0]->operands[0], Element(power)) &&
        ConstantNumber(other->operands[0]->operands[1]) == -INFINITY)
      return power;
    return power * other;
  }
  static bool SameFactor(const Summand& a, const Summand& b) {
    return a.factor && b.factor ? SameExpr(a.factor, b.factor) : !a.factor && !b.factor;
  }
  Expr Joined(const Expr& a, const Expr& b, bool less) const {
    if (IsBinary(a, BinaryOp::kMul) && IsBinary(b, BinaryOp::kMul) && IsPower(a->operands[0]) &&
        SameExpr(a->operands[0], b->operands[0]))
      return a->operands[0] * (less ? a->operands[1] - b->operands[1] : a->operands[1] + b->operands[1]);
    return less ? a - b : a + b;
  }

  const std::vector<Piece>& statistics_;
  std::set<int> known_, late_;
  std::vector<const Piece*> powers_;
};

Expr Statistic(int buffer) { return Load(buffer, {Expr(0)}, ScalarType::kReal); }
Expr Inside(std::size_t number) {
  return Value({NamedValue::Kind::kInside, static_cast<int>(number)}, ScalarType::kReal);
}

}  // namespace

std::optional<RowFold> RowFoldOf(const Memory& memory, const std::vector<Piece>& pieces, std::size_t at,
                                 const std::function<int(int buffer)>& maker,
                                 const std::function<std::vector<std::size_t>(int buffer)>& readers) {
  const Piece& whole = pieces[at];
  if (!whole.fold || whole.fold->op != ReduceOp::kSum || whole.fold->body->type != ScalarType::kReal ||
      !whole.statistics.empty() || !whole.inside.empty() || !IsPlain(memory, whole) || IsWindow(whole))
    return std::nullopt;
  // The terms with the maps in them that nobody else reads.
  Piece terms;
  terms.buffer = whole.buffer;
  terms.space = whole.space;
  terms.space.insert(terms.space.end(), whole.fold->over.begin(), whole.fold->over.end());
  const std::int64_t count = ElementCount(Extents(terms.space));
  std::set<std::size_t> maps;
  bool fits = true;
  terms.value = ReplaceLoads(whole.fold->body, [&](const ExprNode& load) -> Expr {
    const int made = maker(memory.Root(load.buffer));
    if (made < 0 || memory.IsOutput(memory.Root(load.buffer))) return {};
    const auto map = static_cast<std::size_t>(made);
    if (!pieces[map].is_map() || HasReduce(pieces[map].value) || !IsPlain(memory, pieces[map]) ||
        ElementCount(Extents(pieces[map].space)) != count ||
        readers(pieces[map].buffer) != std::vector<std::size_t>{at})
      return {};
    auto element = ElementAt(memory, pieces[map], load);
    fits &= element.has_value();
    maps.insert(map);
    return element.value_or(Expr());
  });
  if (!fits || TreeSize(terms.value) > kLongestTerms) return std::nullopt;
  // A power of a row's elements is somewhere, in the terms or in what they read.
  bool powers = false;
  for (const auto& load : memory.Loads(terms.value)) {
    const int made = maker(load.buffer);
    if (made < 0 || !pieces[static_cast<std::size_t>(made)].fold) continue;
    Visit(pieces[static_cast<std::size_t>(made)].fold->body,
          [&](const ExprNode& node) { powers |= node.kind == Expr::Kind::kUnary && node.unary == UnaryOp::kExp; });
  }
  if (!powers) return std::nullopt;

  std::vector<Piece> with = pieces;
  with[at] = terms;
  auto norm = NormOf(memory, with, at, maker, [&](int buffer) {
    auto found = readers(buffer);
    for (auto& reader : found) {
      if (maps.contains(reader)) reader = at;
    }
    return found;
  });
  if (!norm) return std::nullopt;
  Piece& rows = norm->piece;
  EachExpr(rows, [&](Expr& expr) { expr = memory.Flat(expr); });
  // Rows are kept whole by what is not summed.
  std::vector<IndexVar> axes, kept, more;
  for (std::size_t d = 0; d < rows.space.size(); ++d) {
    const bool folded = std::find(rows.axes.begin(), rows.axes.end(), static_cast<int>(d)) != rows.axes.end();
    if (folded && d < whole.space.size()) return std::nullopt;
    (folded ? axes : kept).push_back(rows.space[d]);
    if (!folded && d >= whole.space.size()) more.push_back(rows.space[d]);
  }
  const RowTerms of_row(rows.statistics);
  const auto summands = of_row.has_powers() ? of_row.Summands(rows.value) : std::nullopt;
  if (!summands || rows.statistics[0].fold->op != ReduceOp::kMax) return std::nullopt;

  RowFold made;
  made.members = norm->members;
  made.members.insert(made.members.end(), maps.begin(), maps.end());
  std::sort(made.members.begin(), made.members.end());
  Piece result;
  result.space = kept;
  result.statistics = rows.statistics;
  Expr total;
  std::size_t sums = 0;
  for (const auto& one : *summands) {
    Expr part = Expr(static_cast<double>(ElementCount(Extents(axes))));
    if (one.term) {
      if (const Piece* known = of_row.SumOf(one.term)) {
        part = Statistic(known->buffer);
      } else {
        Piece sum;
        sum.buffer = -1 - static_cast<int>(sums);
        sum.space = kept;
        sum.fold = Fold{.over = axes,
                        .op = ReduceOp::kSum,
                        .body = one.term,
                        .finish = Value(kIt, ScalarType::kReal),
                        .torch_in_tf32 = false};
        result.statistics.push_back(std::move(sum));
        part = Inside(sums++);
      }
    }
    if (one.factor) part = part * one.factor;
    total = !total ? (one.negative ? -part : part) : one.negative ? total - part : total + part;
  }
  if (sums > kMostSums || !total) return std::nullopt;
  result.fold = Fold{.over = axes,
                     .op = ReduceOp::kMax,
                     .body = rows.statistics[0].fold->body,
                     .finish = total,
                     .torch_in_tf32 = false};
  if (more.empty()) {
    result.buffer = whole.buffer;
    result.fold->finish = ReplaceValue(whole.fold->finish, kIt, total);
    made.rows = std::move(result);
    return made;
  }
  // What rows make takes the place of the last of their sums, which nobody reads any more by its own name.
  const int taken = result.statistics[rows.statistics.size() - 1].buffer;
  const auto& buffer = memory.graph().buffers()[static_cast<std::size_t>(taken)];
  if (buffer.dtype != DType::kF32 || memory.KeptAs(taken) != DType::kF32) return std::nullopt;
  bool read_inside = false;
  for (const Piece& one : result.statistics) {
    Visit(one.fold->body,
          [&](const ExprNode& node) { read_inside |= node.kind == Expr::Kind::kLoad && node.buffer == taken; });
  }
  if (read_inside) return std::nullopt;
  result.statistics[rows.statistics.size() - 1].buffer = -1 - static_cast<int>(sums);
  result.fold->finish =
      ReplaceLoads(total, [&](const ExprNode& load) { return load.buffer == taken ? Inside(sums) : Expr(); });
  result.buffer = taken;
  Piece all = whole;
  all.fold->over = more;
  all.fold->body = Load(taken, {ToExpr(OwnPosition(kept), kept)}, ScalarType::kReal);
  made.rows = std::move(result);
  made.all = std::move(all);
  return made;
}

}  // namespace hone::expert
