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
  const bool whole = nest && nest->fold.term->type == ScalarType::kInt;
  const bool extreme = whole && (nest->fold.op == ReduceOp::kMax || nest->fold.op == ReduceOp::kMin);
  if (!nest || !(extreme || (nest->fold.op == ReduceOp::kSum && NumberOf(*nest->fold.neutral) == 0)))
    return "it has no sum, nor an extreme of whole numbers, or more than one fold, of terms that are taken where a key "
           "out of data is an index";
  if (!BaseOf(*nest)) return "something is made of the sum before it is stored";
  const bool as_added = whole ? kernel.target_type == DType::kI64 || kernel.target_type == DType::kI32
                              : nest->fold.term->type == ScalarType::kReal && kernel.target_type == kernel.compute;
  if (!as_added)
    return "what is stored is not what is added: f32, or f64 where that is computed in, or whole numbers of 32 or 64 "
           "bits";
  return std::nullopt;
}

Expr BaseOf(const KeyedNest& nest) {
  const Expr& element = nest.element.value;
  if (IsValue(element, kIt)) return nest.fold.neutral;
  if (nest.fold.op != ReduceOp::kSum) return {};
  if (element->kind != Expr::Kind::kBinary || element->binary != BinaryOp::kAdd) return {};
  for (const int side : {0, 1}) {
    const Expr& other = element->operands[static_cast<std::size_t>(1 - side)];
    bool apart = true;
    Visit(other, [&](const ExprNode& node) { apart &= node.kind != Expr::Kind::kValue; });
    if (IsValue(element->operands[static_cast<std::size_t>(side)], kIt) && apart) return other;
  }
  return {};
}

double LooksByKeys(const Kernel& kernel) {
  const auto nest = KeyedNestOf(kernel);
  double looks = 1;
  for (const auto& index : nest->element.indices) {
    if (index.id != nest->fold.index.id) looks *= static_cast<double>(index.extent);
  }
  return looks;
}

bool AddsPay(const Kernel& kernel) {
  constexpr double kLooks = 1 << 22;      // about what is done in the time that a second kernel takes to begin
  constexpr std::int64_t kInTurn = 1024;  // and so many of an element's own, however few elements there are
  const auto nest = KeyedNestOf(kernel);
  if (!nest || WhyNotAdded(kernel) || PointsOf(Beside(*nest)) > 1) return false;
  const std::int64_t terms = PointsOf(nest->fold.over);
  return terms >= kInTurn || static_cast<double>(PointsOf(nest->element.indices)) * static_cast<double>(terms) > kLooks;
}

bool ListsPay(const Kernel& kernel) {
  constexpr double kLooks = 1 << 24;  // what is done in the time that the kernels for lists take to begin
  const auto nest = KeyedNestOf(kernel);
  return nest &&
         static_cast<double>(PointsOf(nest->element.indices)) * static_cast<double>(PointsOf(nest->fold.over)) > kLooks;
}

}  // namespace hone::dsl
