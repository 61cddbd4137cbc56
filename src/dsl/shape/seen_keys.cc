#include "dsl/shape/seen_keys.h"

#include <algorithm>
#include <cmath>

#include "dsl/shape/attention_weights.h"
#include "expr/affine.h"
#include "expr/known_value.h"

namespace hone::dsl {
namespace {

// No score comes near a number below that, which hides as well as -inf where another key is seen.
constexpr double kNoScore = -1e30;

class Limits {
 public:
  Limits(const Kernel& kernel, std::size_t batches) : kernel_(kernel), batches_(batches) {}

  // What a score shows: of choices, of addends and of what is scaled, together by `scale`.
  void Read(const Expr& score, double scale = 1) {
    switch (score->kind) {
      case Expr::Kind::kCast: return Read(score->operands[0], scale);
      case Expr::Kind::kSelect:
        for (const std::size_t hidden : {std::size_t{1}, std::size_t{2}}) {
          const auto number = ConstantNumber(score->operands[hidden]);
          if (!number || *number * scale > kNoScore) continue;
          seen.or_all |= *number != -INFINITY;
          ++choices_;
          whole_ = AddSaid(score->operands[0], hidden == 2);
          return Read(score->operands[3 - hidden], scale);
        }
        return;
      case Expr::Kind::kBinary:
        if (score->binary == BinaryOp::kAdd)
          for (const Expr& addend : score->operands) Read(addend, scale);
        if (score->binary == BinaryOp::kMul || score->binary == BinaryOp::kDiv) {
          const double by = ConstantNumber(score->operands[1]).value_or(0);
          if (by > 0) Read(score->operands[0], score->binary == BinaryOp::kMul ? scale * by : scale / by);
        }
        return;
      default: return;
    }
  }

  // Where scores are weights themselves: the choices and truth values that leave 0 of the whole.
  void ReadZeros(const Expr& score) {
    Visit(score, [&](const ExprNode& node) {
      const auto hides = [&](double number) { return KnownWhere(score, node, number) == 0.0; };
      if (node.kind == Expr::Kind::kCast && node.operands[0]->type == ScalarType::kBool && hides(0))
        AddSaid(node.operands[0], true);
      if (node.kind != Expr::Kind::kSelect) return;
      for (const std::size_t hidden : {std::size_t{1}, std::size_t{2}}) {
        const auto number = ConstantNumber(node.operands[hidden]);
        if (number && hides(*number)) AddSaid(node.operands[0], hidden == 2);
      }
    });
  }

  // Whether nothing but these limits hides a key, and all queries of a batch see the same.
  bool Alone() const {
    const auto same = [](const KeyLimit& limit) { return limit.query == 0; };
    bool loads = false;
    Visit(kernel_.lets[0].body,
          [&](const ExprNode& node) { loads |= node.kind == Expr::Kind::kLoad && node.type == ScalarType::kReal; });
    return whole_ && choices_ == 1 && !loads && kernel_.attributes.at("causal")[0] == 0 &&
           std::ranges::all_of(seen.from, same) && std::ranges::all_of(seen.end, same);
  }

  SeenKeys seen;

 private:
  std::size_t Dim(std::size_t from_end) const { return kernel_.space.size() - from_end; }

  bool AddSaid(const Expr& condition, bool holds) {
    const bool whole = Add(condition, holds);
    if (whole) seen.said.push_back({condition, holds});
    return whole;
  }

  // A key is seen only where `condition` holds, or does not; whether that says no more than limits do.
  bool Add(const Expr& condition, bool holds) {
    if (IsUnary(condition, UnaryOp::kNot)) return Add(condition->operands[0], !holds);
    if (condition->kind != Expr::Kind::kBinary) return false;
    const Expr &a = condition->operands[0], &b = condition->operands[1];
    if (condition->binary == (holds ? BinaryOp::kAnd : BinaryOp::kOr)) {
      const bool first = Add(a, holds);
      return Add(b, holds) && first;
    }
    if (holds && condition->binary == BinaryOp::kEqual) AddAlike(condition, a, b);
    const bool strict = condition->binary == BinaryOp::kLess;
    if ((!strict && condition->binary != BinaryOp::kLessEqual) || a->type != ScalarType::kInt ||
        b->type != ScalarType::kInt)
      return false;
    // Not a < b is b <= a.
    return holds ? AddLess(a, b, strict) : AddLess(b, a, !strict);
  }

  void AddAlike(const Expr& condition, const Expr& a, const Expr& b) {
    if (a->type != ScalarType::kInt || b->type != ScalarType::kInt) return;
    for (const auto& [query, key] : {std::pair(a, b), std::pair(b, a)}) {
      const bool two = OfPlaces(query, Dim(4)) && OfPlaces(key, Dim(2));
      if (two && HasLoad(query) && HasLoad(key)) return seen.alike.push_back({condition, query, key});
    }
  }
  // Whether it is of the batch and of this dimension's places alone.
  bool OfPlaces(const Expr& e, std::size_t dim) const {
    const auto others = [&](auto&& in) {
      for (std::size_t d = Dim(4); d < kernel_.space.size(); ++d) {
        if (d != dim && kernel_.space[d].extent > 1 && in(d)) return true;
      }
      return false;
    };
    return OfDims(e, others);
  }
  // Whether it hangs on none of the dimensions that `varies` asks about.
  bool OfDims(const Expr& e, const auto& varies) const {
    if (e->kind == Expr::Kind::kLoad) {
      const auto& strides = kernel_.operands[static_cast<std::size_t>(e->buffer)].strides;
      return !varies([&](std::size_t d) { return strides[d] != 0; });
    }
    if (e->kind == Expr::Kind::kIndex)
      return !varies([&](std::size_t d) { return e->index.id == kernel_.space[d].id; });
    return e->kind != Expr::Kind::kValue &&
           std::ranges::all_of(e->operands, [&](const Expr& operand) { return OfDims(operand, varies); });
  }

  // a < b, or a <= b.
  bool AddLess(const Expr& a, const Expr& b, bool strict) {
    LinearForm ahead = LinearOf(a);
    const LinearForm behind = LinearOf(b);
    ahead.sum = Combine(std::move(ahead.sum), behind.sum, -1);
    for (const auto& [what, times] : behind.rest) ahead.rest.emplace_back(what, -times);
    return AddBelowZero(ahead, strict);
  }

  // ahead < 0, or ahead <= 0: of each that it is the largest of, as of a distance to either side.
  bool AddBelowZero(const LinearForm& ahead, bool strict) {
    for (std::size_t i = 0; i < ahead.rest.size(); ++i) {
      const auto [what, times] = ahead.rest[i];
      const bool both = (IsUnary(what, UnaryOp::kAbs) && times > 0) || (IsBinary(what, BinaryOp::kMax) && times > 0) ||
                        (IsBinary(what, BinaryOp::kMin) && times < 0);
      if (!both) continue;
      const auto with = [&](const LinearForm& one, std::int64_t by) {
        LinearForm changed = ahead;
        changed.rest.erase(changed.rest.begin() + static_cast<std::ptrdiff_t>(i));
        changed.sum = Combine(std::move(changed.sum), one.sum, by);
        for (const auto& [part, of] : one.rest) changed.rest.emplace_back(part, of * by);
        return AddBelowZero(changed, strict);
      };
      const bool first = with(LinearOf(what->operands[0]), times);
      return with(LinearOf(what->operands.back()), what->operands.size() == 1 ? -times : times) && first;
    }
    return AddLimit(ahead, strict);
  }

  // c * key + q * query + rest < 0, or <= 0.
  bool AddLimit(const LinearForm& ahead, bool strict) {
    const IndexVar &key = kernel_.space[Dim(2)], &query = kernel_.space[Dim(4)];
    const std::int64_t c = ahead.sum.of(key), q = query.extent == 1 ? 0 : ahead.sum.of(query);
    if ((c != 1 && c != -1) || q < -1 || q > 1) return false;
    // On the other side: what the key is before, or behind.
    const std::int64_t side = -c;
    Expr place(side * ahead.sum.constant + (c == 1 ? (strict ? 0 : 1) : (strict ? 1 : 0)));
    const auto add = [&](const Expr& what, std::int64_t times) {
      const Expr part = std::abs(times) == 1 ? what : what * Expr(std::abs(times));
      place = side * times > 0 ? place + part : place - part;
    };
    for (std::size_t d = 0; d < Dim(4); ++d) {
      const std::int64_t times = ahead.sum.of(kernel_.space[d]);
      if (times == 0) continue;
      if (d >= batches_ && kernel_.space[d].extent > 1) return false;
      add(kernel_.space[d], times);
    }
    for (const auto& [what, times] : ahead.rest) {
      if (!OfBatchAlone(what)) return false;
      add(what, times);
    }
    (c == 1 ? seen.end : seen.from).push_back({place, static_cast<int>(side * q)});
    return true;
  }

  // Whether it is the same for all keys and queries of what has the same first batch indices.
  bool OfBatchAlone(const Expr& e) const {
    const auto varies = [&](auto&& in) {
      for (std::size_t d = batches_; d < kernel_.space.size(); ++d) {
        if (kernel_.space[d].extent > 1 && in(d)) return true;
      }
      return false;
    };
    return OfDims(e, varies);
  }

  const Kernel& kernel_;
  const std::size_t batches_;
  int choices_ = 0;     // that hide keys, whatever else they say
  bool whole_ = false;  // the last of them says no more than limits do
};

}  // namespace

SeenKeys SeenKeysOf(const Kernel& kernel, std::size_t batches) {
  if (kernel.lets.empty()) return {};
  Limits limits(kernel, batches);
  const Expr& score = kernel.lets[0].body;
  if (WeighsBySoftmax(kernel)) {
    limits.Read(score);
  } else {
    limits.ReadZeros(score);
    limits.seen.alike.clear();
  }
  if (limits.seen.or_all) limits.seen.alike.clear();
  return limits.seen.or_all && !limits.Alone() ? SeenKeys{} : std::move(limits.seen);
}

// Each of them alone hides a key where it does not hold.
Expr ScoreWithin(const SeenKeys& seen, const Expr& score, const Expr& within) {
  for (const auto& [condition, holds] : seen.said) {
    if (score.get() == condition.get()) {
      if (holds) return within;
      return within->kind == Expr::Kind::kConst ? Expr::Bool(within->whole == 0) : Apply(UnaryOp::kNot, within);
    }
  }
  std::vector<Expr> operands;
  bool same = true;
  for (const Expr& operand : score->operands) {
    operands.push_back(ScoreWithin(seen, operand, within));
    same &= operands.back().get() == operand.get();
  }
  if (same) return score;
  if (score->kind == Expr::Kind::kSelect && operands[0]->kind == Expr::Kind::kConst)
    return operands[operands[0]->whole != 0 ? 1 : 2];
  for (const std::size_t addend : {0u, 1u}) {
    if (IsBinary(score, BinaryOp::kAdd) && ConstantNumber(operands[addend]) == 0.0) return operands[1 - addend];
  }
  return WithOperands(score, std::move(operands));
}

Expr ScoreAlike(const SeenKeys& seen, const Expr& score, const Expr& within) {
  if (seen.alike.empty()) return score;
  return ScoreWithin({.said = {{seen.alike[0].condition}}}, score, within);
}

KeyRange KeysOfQueries(const Kernel& kernel, const SeenKeys& seen, std::int64_t first, std::int64_t last) {
  const std::int64_t keys = kernel.space[kernel.space.size() - 2].extent;
  KeyRange range{0, kernel.attributes.at("causal")[0] != 0 ? std::min(last + 1, keys) : keys};
  const auto place = [](const KeyLimit& limit, std::int64_t nearest, std::int64_t otherwise) {
    return limit.of->kind == Expr::Kind::kConst ? limit.of->whole + limit.query * nearest : otherwise;
  };
  for (const KeyLimit& limit : seen.from)
    range.from = std::max(range.from, place(limit, limit.query > 0 ? first : last, 0));
  for (const KeyLimit& limit : seen.end)
    range.end = std::min(range.end, place(limit, limit.query > 0 ? last : first, keys));
  range.end = std::max(range.end, range.from);
  return range;
}

double SeenPairs(const Kernel& kernel) {
  const std::size_t rank = kernel.space.size();
  const SeenKeys seen = SeenKeysOf(kernel, rank - 4);
  double pairs = 0;
  for (std::int64_t query = 0; query < kernel.space[rank - 4].extent; ++query) {
    const KeyRange range = KeysOfQueries(kernel, seen, query, query);
    pairs += static_cast<double>(range.end - range.from);
  }
  return pairs;
}

}  // namespace hone::dsl
