#include "propose/expert/hidden_keys.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "expr/affine.h"
#include "expr/fold.h"
#include "expr/known_value.h"
#include "propose/expert/normalise.h"
#include "propose/expert/pieces.h"
#include "propose/expert/rewrite.h"

namespace hone::expert {
namespace {

// --- Conditions ---

struct Condition {
  Expr expr;
  bool holds = true;  // or does not
};

// One of two numbers, as a condition says.
struct Choice {
  Expr condition;
  double then = 1, otherwise = 0;
};
std::optional<Choice> ChoiceOf(const Expr& e) {
  if (e->kind == Expr::Kind::kCast && e->operands[0]->type == ScalarType::kBool) return Choice{e->operands[0]};
  if (e->kind != Expr::Kind::kSelect) return std::nullopt;
  const auto then = ConstantNumber(e->operands[1]), otherwise = ConstantNumber(e->operands[2]);
  if (!then || !otherwise) return std::nullopt;
  return Choice{e->operands[0], *then, *otherwise};
}

// Adds conditions that all have to be met for `e` to hold, or not to.
void AddConditions(const Expr& e, bool holds, std::vector<Condition>& all) {
  const auto add_choice = [&](const Expr& of, const auto& is) {
    const auto choice = ChoiceOf(of);
    if (!choice || is(choice->then) == is(choice->otherwise)) return false;
    AddConditions(choice->condition, is(choice->then) == holds, all);
    return true;
  };
  const auto is_true = [](double x) { return x != 0; };
  if (e->kind == Expr::Kind::kUnary && e->unary == UnaryOp::kNot && e->type == ScalarType::kBool)
    return AddConditions(e->operands[0], !holds, all);
  if (e->kind == Expr::Kind::kCast && e->type == ScalarType::kBool && add_choice(e->operands[0], is_true)) return;
  if (e->kind == Expr::Kind::kSelect && add_choice(e, is_true)) return;
  if (e->kind == Expr::Kind::kBinary && e->type == ScalarType::kBool) {
    const Expr &a = e->operands[0], &b = e->operands[1];
    if (e->binary == (holds ? BinaryOp::kAnd : BinaryOp::kOr)) {
      AddConditions(a, holds, all);
      return AddConditions(b, holds, all);
    }
    const bool compares = e->binary >= BinaryOp::kLess && e->binary <= BinaryOp::kNotEqual;
    const auto first = ConstantNumber(a), second = ConstantNumber(b);
    if (compares && second && add_choice(a, [&](double x) { return ValueOf(e->binary, x, *second) != 0; })) return;
    if (compares && first && add_choice(b, [&](double x) { return ValueOf(e->binary, *first, x) != 0; })) return;
  }
  all.push_back({e, holds});
}

// What is not below zero where the condition is met, if that is a comparison of sums of indices.
std::optional<Affine> NotBelowZero(const Condition& condition) {
  const Expr& e = condition.expr;
  if (e->kind != Expr::Kind::kBinary || (e->binary != BinaryOp::kLess && e->binary != BinaryOp::kLessEqual))
    return std::nullopt;
  const auto a = AffineOf(e->operands[0]), b = AffineOf(e->operands[1]);
  if (!a || !b) return std::nullopt;
  Affine ahead = condition.holds ? Combine(*b, *a, -1) : Combine(*a, *b, -1);
  if ((e->binary == BinaryOp::kLess) == condition.holds) ahead.constant -= 1;
  return ahead;
}

// That the key is not beyond the query.
Affine OwnPlaceOf(const IndexVar& query, const IndexVar& key) { return {.coefficient = {{query.id, 1}, {key.id, -1}}}; }

Expr AllOf(const std::vector<Condition>& conditions) {
  Expr all;
  for (const auto& condition : conditions) {
    const Expr one = condition.holds ? condition.expr : Apply(UnaryOp::kNot, condition.expr);
    all = all ? Apply(BinaryOp::kAnd, all, one) : one;
  }
  return all;
}

// --- Scores ---

bool IsMinusInfinity(const Expr& e) { return ConstantNumber(e) == -INFINITY; }
// A number that stands for -inf where a query sees some key.
bool IsHidden(const Expr& e, double least_score) {
  const auto number = ConstantNumber(e);
  return number && *number <= least_score;
}

// What is made of a choice of two numbers, and of another number, as a choice of two: (1 - (c ? 1 : 0)) * -1e9.
Expr WithChoicesOfNumbers(const Expr& expr) {
  return Rewrite(expr, [](const Expr& e) -> Expr {
    if (e->type != ScalarType::kReal) return {};
    const auto made = [&](std::size_t side, const auto& value) -> Expr {
      const auto choice = ChoiceOf(e->operands[side]);
      return choice ? Select(choice->condition, value(choice->then), value(choice->otherwise)) : Expr();
    };
    if (e->kind == Expr::Kind::kCast && e->operands[0]->kind == Expr::Kind::kSelect)
      return made(0, [](double x) { return Expr(x); });
    if (e->kind != Expr::Kind::kBinary || e->binary > BinaryOp::kDiv) return {};
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const auto number = ConstantNumber(e->operands[1 - side]);
      if (!number) continue;
      return made(side, [&](double x) {
        return Expr(side == 0 ? ValueOf(e->binary, x, *number) : ValueOf(e->binary, *number, x));
      });
    }
    return {};
  });
}

// A score, whose queries see some key each if what makes `sees` of the conditions says so, with -inf for what a number
// hides or is added to hide, which kernels skip. Of one that something else hides keys of, too, nothing is known.
template <class Sees>
Expr WithInfinity(const Expr& score, double least_score, const Sees& sees) {
  const auto is_plain = [](const Expr& e) {
    bool plain = !HasLoad(e);
    Visit(e, [&](const ExprNode& node) { plain &= node.kind != Expr::Kind::kSelect; });
    return plain;
  };
  // What is left of a choice that hides something, if `shown` is what it shows else.
  const auto hidden = [&](const Expr& choice, const auto& shown) {
    if (choice->kind != Expr::Kind::kSelect) return Expr();
    for (const std::size_t side : {std::size_t{2}, std::size_t{1}}) {
      const Expr made = IsHidden(choice->operands[side], least_score) ? shown(choice->operands[3 - side]) : Expr();
      if (made && is_plain(made) && sees(choice->operands[0], side == 2))
        return side == 2 ? Select(choice->operands[0], made, -INFINITY) : Select(choice->operands[0], -INFINITY, made);
    }
    return Expr();
  };
  if (const Expr made = hidden(score, [](const Expr& shown) { return shown; })) return made;
  if (!IsBinary(score, BinaryOp::kAdd)) return score;
  for (const std::size_t addend : {1u, 0u}) {
    const auto nothing_added = [&](const Expr& shown) {
      return ConstantNumber(shown) == 0.0 ? score->operands[1 - addend] : Expr();
    };
    if (const Expr made = hidden(score->operands[addend], nothing_added)) return made;
  }
  return score;
}

// Whether a condition of places alone holds, or does not, for some key whatever the query: for its own one, the first
// or the last.
bool SeesSome(const Expr& condition, bool holds, const IndexVar& query, const IndexVar& key) {
  const std::int64_t last = key.extent - 1;
  for (const Expr& place : {query.extent <= key.extent ? Expr(query) : Expr(0), Expr(0), Expr(last)}) {
    const Expr at =
        Simplify(Substitute(condition, [&](const IndexVar& var) { return var.id == key.id ? place : Expr(); }));
    if (IsConst(at) && (at->whole != 0) == holds) return true;
  }
  return false;
}

class Causal {
 public:
  Causal(const IndexVar& query, const IndexVar& key, double least_score)
      : query_(query), key_(key), own_(OwnPlaceOf(query, key)), least_score_(least_score) {}

  std::optional<Expr> Behind(const Expr& score) const {
    if (score->kind == Expr::Kind::kSelect) return BehindChoice(score);
    if (score->kind != Expr::Kind::kBinary) return std::nullopt;
    if (score->binary == BinaryOp::kMul || score->binary == BinaryOp::kDiv) {
      const auto scale = ConstantNumber(score->operands[1]);
      const auto scaled = scale && *scale > 0 ? Behind(score->operands[0]) : std::nullopt;
      return scaled ? std::optional(Apply(score->binary, *scaled, score->operands[1])) : std::nullopt;
    }
    if (score->binary != BinaryOp::kAdd) return std::nullopt;
    for (const std::size_t addend : {1u, 0u}) {
      const Expr &mask = score->operands[addend], &other = score->operands[1 - addend];
      const auto rest = Behind(mask);
      if (rest) return ConstantNumber(*rest) == 0.0 ? other : addend == 1 ? other + *rest : *rest + other;
    }
    return std::nullopt;
  }

 private:
  // A choice that hides keys beyond the query: what is chosen else, and where; `hidden` stands for the others.
  struct Seen {
    Expr shown, hidden;
    std::vector<Condition> rest;
  };
  std::optional<Seen> SeenBy(const Expr& e) const {
    if (e->kind != Expr::Kind::kSelect) return std::nullopt;
    for (const std::size_t hidden : {2u, 1u}) {
      if (!IsHidden(e->operands[hidden], least_score_)) continue;
      Seen seen{.shown = e->operands[3 - hidden], .hidden = e->operands[hidden], .rest = {}};
      AddConditions(e->operands[0], hidden == 2, seen.rest);
      const auto erased =
          std::erase_if(seen.rest, [&](const Condition& condition) { return NotBelowZero(condition) == own_; });
      if (erased > 0 && (IsMinusInfinity(seen.hidden) || SeesItself(seen.rest))) return seen;
    }
    return std::nullopt;
  }

  std::optional<Expr> BehindChoice(const Expr& score) const {
    if (const auto seen = SeenBy(score))
      return seen->rest.empty() ? seen->shown : Select(AllOf(seen->rest), seen->shown, seen->hidden);
    for (const std::size_t hidden : {2u, 1u}) {
      if (!IsMinusInfinity(score->operands[hidden])) continue;
      const auto shown = Behind(score->operands[3 - hidden]);
      if (!shown) continue;
      return hidden == 2 ? Select(score->operands[0], *shown, score->operands[2])
                         : Select(score->operands[0], score->operands[1], *shown);
    }
    return std::nullopt;
  }

  // Whether each query sees a key, its own one or, of no further conditions, the first.
  bool SeesItself(const std::vector<Condition>& rest) const {
    return rest.empty() ||
           (query_.extent <= key_.extent && std::all_of(rest.begin(), rest.end(), [&](const Condition& condition) {
              const Expr at = Simplify(Substitute(
                  condition.expr, [&](const IndexVar& var) { return var.id == key_.id ? Expr(query_) : Expr(); }));
              return at->kind == Expr::Kind::kConst && (at->whole != 0) == condition.holds;
            }));
  }

  const IndexVar query_, key_;
  const Affine own_;
  const double least_score_;
};

// --- Weights ---

// The expression with `made` for a node of it; what adds 0 or multiplies by 1 then is left out.
Expr WithNode(const Expr& e, const ExprNode& node, const Expr& made) {
  if (e.get() == &node) return made;
  std::vector<Expr> operands;
  bool same = true;
  for (const Expr& operand : e->operands) {
    operands.push_back(WithNode(operand, node, made));
    same &= operands.back().get() == operand.get();
  }
  if (same) return e;
  const bool adds = IsBinary(e, BinaryOp::kAdd), multiplies = IsBinary(e, BinaryOp::kMul);
  for (std::size_t i = 0; i < operands.size() && (adds || multiplies); ++i) {
    if (ConstantNumber(operands[i]) == (adds ? 0.0 : 1.0)) return operands[1 - i];
  }
  return WithOperands(e, std::move(operands));
}

// The weight without the condition that leaves 0 of keys beyond a query's own place; nothing if it has none.
std::optional<Expr> BehindCondition(const Expr& score, const IndexVar& query, const IndexVar& key) {
  const Affine own = OwnPlaceOf(query, key);
  std::optional<Expr> found;
  Visit(score, [&](const ExprNode& node) {
    // Without what hides a key beyond the query, if `hidden` makes 0 of the whole.
    const auto look = [&](const Expr& condition, bool holds, const Expr& shown, const Expr& hidden) {
      const auto number = ConstantNumber(hidden);
      if (found || !number || KnownWhere(score, node, *number) != 0.0) return;
      std::vector<Condition> rest;
      AddConditions(condition, holds, rest);
      if (std::erase_if(rest, [&](const Condition& one) { return NotBelowZero(one) == own; }) > 0)
        found = WithNode(score, node, rest.empty() ? shown : Select(AllOf(rest), shown, hidden));
    };
    if (node.kind == Expr::Kind::kCast && node.type == ScalarType::kReal && node.operands[0]->type == ScalarType::kBool)
      look(node.operands[0], true, Expr(1.0), Expr(0.0));
    if (node.kind != Expr::Kind::kSelect || node.type != ScalarType::kReal) return;
    look(node.operands[0], true, node.operands[1], node.operands[2]);
    look(node.operands[0], false, node.operands[2], node.operands[1]);
  });
  return found;
}

constexpr int kFewOperations = 60;

// What the load reads, as the stage says that makes it element by element, in few operations.
std::optional<Expr> StageElement(const Memory& memory, const ExprNode& load) {
  const Graph& graph = memory.graph();
  const int root = memory.Root(load.buffer), at = graph.buffers()[static_cast<std::size_t>(root)].stage;
  if (at < 0) return std::nullopt;
  const Stage& stage = graph.stages()[static_cast<std::size_t>(at)];
  if (stage.sequence >= 0 || HasReduce(stage.value) || TreeSize(stage.value) > kFewOperations ||
      ElementCount(memory.shape(root)) == 0)
    return std::nullopt;
  Normal normal = Normalise(stage.vars, stage.value);
  Piece map;
  map.buffer = root;
  map.space = std::move(normal.space);
  map.value = std::move(normal.value);
  return ElementAt(memory, map, load);
}

// The expression with what its loads read written out, as far as stages say it in few operations.
Expr WrittenOut(const Memory& memory, const Expr& expr) {
  return ReplaceLoads(expr, [&](const ExprNode& load) -> Expr {
    const auto element = StageElement(memory, load);
    if (!element) return {};
    const Expr written = WrittenOut(memory, *element);
    return TreeSize(written) <= kFewOperations ? written : *element;
  });
}

}  // namespace

std::optional<Expr> MadeOfIndices(const Memory& memory, const ExprNode& load) {
  const auto element = StageElement(memory, load);
  if (!element || IsExpensive(*element)) return std::nullopt;
  bool indices_alone = true;
  const Expr made = ReplaceLoads(*element, [&](const ExprNode& inner) -> Expr {
    auto value = indices_alone ? MadeOfIndices(memory, inner) : std::nullopt;
    indices_alone &= value.has_value();
    return value.value_or(Expr());
  });
  return indices_alone && TreeSize(made) <= kFewOperations ? std::optional(made) : std::nullopt;
}

std::optional<Expr> WeightBehindCausal(const Memory& memory, const Expr& score, const IndexVar& query,
                                       const IndexVar& key) {
  if (auto behind = BehindCondition(score, query, key)) return behind;
  return BehindCondition(Simplify(WrittenOut(memory, score)), query, key) ? std::optional(score) : std::nullopt;
}

double LeastScore(DType scores) { return scores == DType::kF16 ? -6.5e4 : -9.9e8; }

std::optional<Expr> BehindCausal(const Expr& score, const IndexVar& query, const IndexVar& key, double least_score) {
  const Causal causal(query, key, least_score);
  auto behind = causal.Behind(score);
  if (!behind) behind = causal.Behind(WithChoicesOfNumbers(score));
  return behind ? WithInfinity(*behind, least_score, [](const Expr&, bool) { return true; }) : behind;
}

Expr WithHiddenKeys(const Expr& score, const IndexVar& query, const IndexVar& key, double least_score) {
  const auto sees = [&](const Expr& condition, bool holds) { return SeesSome(condition, holds, query, key); };
  const Expr choice = WithChoicesOfNumbers(score), hidden = WithInfinity(choice, least_score, sees);
  return hidden.get() == choice.get() ? score : hidden;
}

}  // namespace hone::expert
