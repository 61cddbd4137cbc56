#include "expr/keyed_fold.h"

#include <algorithm>
#include <map>
#include <utility>

namespace hone {
namespace {

// The indices that an expression uses, each once.
std::vector<IndexVar> IndicesOf(const Expr& expr) {
  std::map<int, IndexVar> all;
  Visit(expr, [&](const ExprNode& node) {
    if (node.kind == Expr::Kind::kIndex) all[node.index.id] = node.index;
  });
  std::vector<IndexVar> indices;
  for (const auto& [id, index] : all) indices.push_back(index);
  return indices;
}

// What is taken on which condition, else what.
struct Choice {
  Expr condition, then, otherwise;
};
std::optional<Choice> ChoiceOf(const Expr& body) {
  if (body->kind == Expr::Kind::kSelect) return Choice{body->operands[0], body->operands[1], body->operands[2]};
  // Terms that are only counted, or of which there is any.
  if (body->kind == Expr::Kind::kCast && body->operands[0]->type == ScalarType::kBool)
    return Choice{body->operands[0], Cast(1, body->type), Cast(0, body->type)};
  if (body->type == ScalarType::kBool) return Choice{body, Expr::Bool(true), Expr::Bool(false)};
  return std::nullopt;
}

}  // namespace

std::optional<KeyedFold> KeyedFoldOf(const ExprNode& fold) {
  if (fold.kind != Expr::Kind::kReduce || IsArg(fold.reduce) || fold.reduce == ReduceOp::kAll) return std::nullopt;
  const auto choice = ChoiceOf(fold.operands[0]);
  if (!choice || choice->otherwise->kind != Expr::Kind::kConst || HasReduce(choice->then)) return std::nullopt;
  const Expr& condition = choice->condition;
  if (condition->kind != Expr::Kind::kBinary || condition->binary != BinaryOp::kEqual) return std::nullopt;
  const auto is_over = [&](const IndexVar& index) {
    return std::any_of(fold.over.begin(), fold.over.end(), [&](const IndexVar& var) { return var.id == index.id; });
  };
  for (const int side : {0, 1}) {
    const Expr& index = condition->operands[static_cast<std::size_t>(side)];
    const Expr& key = condition->operands[static_cast<std::size_t>(1 - side)];
    if (index->kind != Expr::Kind::kIndex || is_over(index->index) || UsesIndex(key, index->index.id) ||
        key->type != ScalarType::kInt || HasReduce(key) || !HasLoad(key))
      continue;
    KeyedFold keyed{.op = fold.reduce,
                    .over = fold.over,
                    .key = key,
                    .index = index->index,
                    .others = {},
                    .term = choice->then,
                    .neutral = choice->otherwise};
    bool varies = false;
    for (const IndexVar& used : IndicesOf(key)) {
      varies |= is_over(used);
      if (!is_over(used)) keyed.others.push_back(used);
    }
    if (varies) return keyed;
  }
  return std::nullopt;
}

}  // namespace hone
