#include "dsl/shape/keyed_nest.h"

#include <algorithm>

namespace hone::dsl {

std::optional<KeyedNest> KeyedNestOf(const Kernel& kernel) {
  const auto nest = OneFold(kernel);
  if (!nest) return std::nullopt;
  auto keyed = KeyedFoldOf(*nest->fold);
  if (!keyed) return std::nullopt;
  return KeyedNest{nest->element, std::move(*keyed)};
}

std::vector<IndexVar> Beside(const KeyedNest& nest) {
  std::vector<IndexVar> beside;
  for (const auto& index : nest.element.indices) {
    const bool is_other = std::any_of(nest.fold.others.begin(), nest.fold.others.end(),
                                      [&](const IndexVar& other) { return other.id == index.id; });
    if (!is_other && index.id != nest.fold.index.id) beside.push_back(index);
  }
  return beside;
}

std::optional<std::string> WhyNotAdded(const Kernel& kernel) {
  const auto nest = KeyedNestOf(kernel);
  if (!nest || nest->fold.op != ReduceOp::kSum || NumberOf(*nest->fold.neutral) != 0)
    return "it has no sum, or more than one fold, of terms that are taken where a key out of data is an index";
  if (!BaseOf(*nest)) return "something is made of the sum before it is stored";
  if (nest->fold.term->type != ScalarType::kReal || kernel.target_type != kernel.compute)
    return "what is stored is not what is added: f32, or f64 where that is computed in";
  return std::nullopt;
}

Expr BaseOf(const KeyedNest& nest) {
  const Expr& element = nest.element.value;
  if (IsValue(element, kIt)) return Expr(0.0);
  if (element->kind != Expr::Kind::kBinary || element->binary != BinaryOp::kAdd) return {};
  for (const int side : {0, 1}) {
    const Expr& other = element->operands[static_cast<std::size_t>(1 - side)];
    bool apart = true;
    Visit(other, [&](const ExprNode& node) { apart &= node.kind != Expr::Kind::kValue; });
    if (IsValue(element->operands[static_cast<std::size_t>(side)], kIt) && apart) return other;
  }
  return {};
}

bool ListsPay(const Kernel& kernel) {
  constexpr double kLooks = 1 << 24;  // what is done in the time that the kernels for lists take to begin
  const auto nest = KeyedNestOf(kernel);
  return nest &&
         static_cast<double>(PointsOf(nest->element.indices)) * static_cast<double>(PointsOf(nest->fold.over)) > kLooks;
}

}  // namespace hone::dsl
