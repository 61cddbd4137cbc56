#include "dsl/shape/reduction.h"

#include <algorithm>

namespace hone::dsl {

bool FindsPlace(const Kernel& kernel) { return kernel.variant == "argmax" || kernel.variant == "argmin"; }

Reduction ReductionOf(const Kernel& kernel) {
  Reduction one;
  FoldPass::Item& item = one.item;
  item.let = static_cast<int>(kernel.lets.size());
  item.fold = FoldOfVariant(kernel.variant);
  item.body = kernel.inputs[0];
  if (item.body->type == ScalarType::kBool) item.body = Cast(item.body, ScalarType::kInt);
  const Expr it = Value(kIt, item.body->type);
  double count = 1;
  for (const int axis : kernel.axes) count *= static_cast<double>(kernel.space[static_cast<std::size_t>(axis)].extent);
  item.finish = kernel.variant == "mean" ? it / count : it;
  item.name = kernel.variant;
  // What a let folds in the same way is folded once.
  for (std::size_t i = 0; i < kernel.lets.size(); ++i) {
    const KernelLet& let = kernel.lets[i];
    if (let.fold == item.fold && SameExpr(let.body, item.body) && SameExpr(let.finish, item.finish))
      item.let = static_cast<int>(i);
  }
  // The epilogue's `it` is the finished value.
  one.result = ReplaceValues(kernel.epilogue, [&](const ExprNode& value) {
    return value.value == kIt ? Value(LetValue(item.let), value.type) : Expr();
  });
  return one;
}

std::vector<FoldPass> ReductionPasses(const Kernel& kernel, const Reduction& one) {
  std::vector<FoldPass> passes = LetPasses(kernel);
  if (passes.empty()) passes.emplace_back();
  if (one.item.let == static_cast<int>(kernel.lets.size())) passes[0].items.push_back(one.item);
  return passes;
}

Kernel AsNest(const Kernel& kernel) {
  Kernel nest = kernel;
  std::vector<IndexVar> over;
  nest.space.clear();
  for (std::size_t d = 0; d < kernel.space.size(); ++d) {
    const bool folded = std::binary_search(kernel.axes.begin(), kernel.axes.end(), static_cast<int>(d));
    (folded ? over : nest.space).push_back(kernel.space[d]);
  }
  for (auto& operand : nest.operands) {
    for (const auto& index : kernel.space) operand.extents.push_back(index.extent);
  }
  Expr folded;
  if (FindsPlace(kernel)) {
    folded = Reduce(kernel.variant == "argmax" ? ReduceOp::kArgMax : ReduceOp::kArgMin, over, kernel.inputs[0]);
  } else {
    const Reduction one = ReductionOf(kernel);
    const Expr fold = Reduce(one.item.fold, over, one.item.body);
    folded = ReplaceValue(one.item.finish, kIt, fold);
  }
  nest.epilogue = ReplaceValue(kernel.epilogue, kIt, folded);
  return nest;
}

}  // namespace hone::dsl
