#include "oracle/key_lists.h"

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_set>

#include "expr/keyed_fold.h"
#include "oracle/product_tiles.h"

namespace hone {
namespace {

// Results that share what the keys are read for: with fewer, listing costs as much as looking.
constexpr std::int64_t kFewestLists = 16;
// Lists and terms are counted in 32 bits (generated_code/key_lists.cuh).
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() - 1;

using Ids = std::set<int>;

Ids IdsOf(const std::vector<IndexVar>& vars) {
  Ids ids;
  for (const auto& var : vars) ids.insert(var.id);
  return ids;
}

void AddIndices(const Expr& e, Ids& ids) {
  Visit(e, [&](const ExprNode& node) {
    if (node.kind == Expr::Kind::kIndex) ids.insert(node.index.id);
  });
}

// The conditions that have to hold together for a term to be taken, and those that have to hold for these to be looked
// at.
struct Conditions {
  std::vector<Expr> all, guards;
};
void Divide(const Expr& condition, Conditions& conditions) {
  const auto is_false = [](const Expr& e) { return ConstantNumber(e) == 0; };
  if (condition->kind == Expr::Kind::kSelect && is_false(condition->operands[2])) {
    conditions.guards.push_back(condition->operands[0]);
    return Divide(condition->operands[1], conditions);
  }
  if (condition->kind == Expr::Kind::kBinary && condition->binary == BinaryOp::kAnd) {
    for (const auto& operand : condition->operands) Divide(operand, conditions);
    return;
  }
  conditions.all.push_back(condition);
}

// What a term is where its condition holds and where not.
struct Choice {
  Expr condition, then, otherwise;
};
std::optional<Choice> ChoiceOf(const Expr& term) {
  if (term->kind == Expr::Kind::kSelect) return Choice{term->operands[0], term->operands[1], term->operands[2]};
  // As fold_range.h writes a product.
  if (term->kind == Expr::Kind::kBinary && term->binary == BinaryOp::kMul) {
    const auto a = ChoiceOf(term->operands[0]), b = ChoiceOf(term->operands[1]);
    const auto is_zero = [](const Expr& e) { return ConstantNumber(e) == 0; };
    if (!a || !b || !is_zero(a->otherwise) || !is_zero(b->otherwise) || !SameExpr(a->condition, b->condition))
      return std::nullopt;
    return Choice{a->condition, a->then * b->then, a->otherwise};
  }
  if (term->kind == Expr::Kind::kCast && term->operands[0]->type == ScalarType::kBool)
    return Choice{term->operands[0], Cast(1, term->type), Cast(0, term->type)};
  if (term->type == ScalarType::kBool) return Choice{term, Expr::Bool(true), Expr::Bool(false)};
  return std::nullopt;
}

// What a fold of fewer than all terms begins with, so that those passed over are in it.
std::optional<Expr> StartOf(ReduceOp op, const Expr& passed_over) {
  if (passed_over->kind != Expr::Kind::kConst) return std::nullopt;
  switch (op) {
    case ReduceOp::kMax:
    case ReduceOp::kMin: return passed_over;
    case ReduceOp::kSum:
    case ReduceOp::kProd:
    case ReduceOp::kAny:
      return NumberOf(*passed_over) == (op == ReduceOp::kProd ? 1 : 0) ? std::optional(Expr()) : std::nullopt;
    default: return std::nullopt;
  }
}

struct Found {
  KeyLists lists;
  Expr start;
};
std::optional<Found> ListsOf(const std::vector<IndexVar>& vars, const ExprNode& fold,
                             const std::function<bool(const Expr&)>& exact) {
  const auto choice = ChoiceOf(fold.operands[0]);
  if (!choice) return std::nullopt;
  const auto start = StartOf(fold.reduce, choice->otherwise);
  if (!start) return std::nullopt;
  Conditions conditions;
  Divide(choice->condition, conditions);
  Found found{.lists = {.keys = {}, .over = fold.over, .others = {}, .guard = {}}, .start = *start};
  Ids compared, read;
  for (const Expr& condition : conditions.all) {
    const auto keyed = KeyedFoldOf(*Reduce(fold.reduce, fold.over, Select(condition, choice->then, choice->otherwise)));
    if (!keyed || !compared.insert(keyed->index.id).second) continue;
    found.lists.exact = found.lists.exact && exact(keyed->key);
    found.lists.keys.push_back({keyed->key, keyed->index});
    AddIndices(keyed->key, read);
  }
  if (found.lists.keys.empty()) return std::nullopt;
  for (const Expr& guard : conditions.guards) {
    if (!exact(guard) || HasReduce(guard)) return std::nullopt;
    found.lists.guard = found.lists.guard ? And(found.lists.guard, guard) : guard;
    AddIndices(guard, read);
  }
  const Ids own = IdsOf(vars), over = IdsOf(fold.over);
  for (const int id : compared) {
    if (read.contains(id) || !own.contains(id)) return std::nullopt;
  }
  for (const int id : read) {
    if (!own.contains(id) && !over.contains(id)) return std::nullopt;
  }
  for (const auto& var : vars) {
    if (read.contains(var.id)) found.lists.others.push_back(var);
  }
  return found;
}

// Whether the terms of one are listed as those of the other.
bool SameLists(const KeyLists& a, const KeyLists& b) {
  if (a.keys.size() != b.keys.size() || a.over.size() != b.over.size() || a.exact != b.exact) return false;
  for (std::size_t i = 0; i < a.over.size(); ++i) {
    if (a.over[i].extent != b.over[i].extent) return false;
  }
  const auto same = [&](const Expr& x, const Expr& y) {
    if (!x || !y) return !x && !y;
    return SameExpr(x, Substitute(y, [&](const IndexVar& var) -> Expr {
                      for (std::size_t i = 0; i < b.over.size(); ++i) {
                        if (b.over[i].id == var.id) return a.over[i];
                      }
                      return {};
                    }));
  };
  for (std::size_t k = 0; k < a.keys.size(); ++k) {
    if (a.keys[k].index.id != b.keys[k].index.id || !same(a.keys[k].key, b.keys[k].key)) return false;
  }
  return same(a.guard, b.guard);
}

// Extents multiply to more than an integer holds.
double Count(const std::vector<IndexVar>& vars) {
  double count = 1;
  for (const auto& var : vars) count *= static_cast<double>(var.extent);
  return count;
}

bool IsWorth(const std::vector<IndexVar>& vars, const KeyLists& lists, std::int64_t fewest_looks) {
  const double results = Count(vars), terms = Count(lists.over), others = Count(lists.others);
  if (results * terms < static_cast<double>(fewest_looks) || results == 0 || terms == 0) return false;
  const double entries = others * terms * (lists.exact ? 1 : 2);
  if (entries > static_cast<double>(kMost) || results > static_cast<double>(kMost)) return false;
  return results >= static_cast<double>(std::min(kFewestLists, fewest_looks)) * others;
}

}  // namespace

std::int64_t KeyLists::Others() const { return Extent(others); }
std::int64_t KeyLists::Terms() const { return Extent(over); }
std::int64_t KeyLists::ListsOfEach() const {
  std::int64_t count = 1;
  for (const auto& key : keys) count *= key.index.extent;
  return count;
}

StageLists ListsOf(const std::vector<IndexVar>& vars, const Expr& value, const std::function<bool(const Expr&)>& exact,
                   std::int64_t fewest_looks) {
  StageLists made;
  if (!value) return made;
  VisitOuterFolds(value, [&](const ExprNode& fold) {
    const auto found = ListsOf(vars, fold, exact);
    if (!found || !IsWorth(vars, found->lists, fewest_looks)) return;
    std::size_t at = 0;
    while (at < made.lists.size() && !SameLists(made.lists[at], found->lists)) ++at;
    if (at == made.lists.size()) made.lists.push_back(found->lists);
    made.folds[&fold] = {at, found->start};
  });
  return made;
}

}  // namespace hone
