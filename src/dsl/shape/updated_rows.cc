#include "dsl/shape/updated_rows.h"

#include <algorithm>
#include <map>
#include <vector>

#include "dsl/shape/updated_places.h"

namespace hone::dsl {

bool IsOfUpdatedRow(const Kernel& kernel, const ExprNode& load, const std::vector<std::int64_t>& target,
                    std::int64_t row) {
  const KernelOperand& operand = kernel.operands[static_cast<std::size_t>(load.buffer)];
  std::map<int, std::int64_t> left;  // of each index, how far apart its rows are, less what is read
  for (std::size_t d = 0; d < kernel.space.size(); ++d) {
    if (kernel.space[d].extent > 1 && target[d] >= row) left[kernel.space[d].id] = target[d];
  }
  std::int64_t last = operand.offset;  // in the row
  for (std::size_t d = 0; d < load.operands.size(); ++d) {
    const Expr& index = load.operands[d];
    const std::int64_t step = operand.strides[d];
    if (step == 0 || (IsConst(index) && index->whole == 0)) continue;
    if (step > 0 && step < row) {
      last += (operand.extents[d] - 1) * step;
      continue;
    }
    if (index->kind != Expr::Kind::kIndex) return false;
    if (index->index.extent > 1) left[index->index.id] -= step;
  }
  return operand.offset >= 0 && last < row &&
         std::ranges::all_of(left, [](const auto& one) { return one.second == 0; });
}

std::int64_t UpdatedRowOf(const Kernel& kernel, int buffer) {
  const std::vector<std::int64_t> target = TargetStridesOf(kernel);
  std::vector<const ExprNode*> loads;
  Visit(kernel.epilogue, [&](const ExprNode& node) {
    if (node.kind == Expr::Kind::kLoad && kernel.operands[static_cast<std::size_t>(node.buffer)].buffer == buffer)
      loads.push_back(&node);
  });
  std::int64_t row = 1;
  for (std::size_t d = kernel.space.size(); row <= kMostInUpdatedRow; row *= kernel.space[--d].extent) {
    if (std::ranges::all_of(loads, [&](const ExprNode* load) { return IsOfUpdatedRow(kernel, *load, target, row); }))
      return row;
    if (d == 0) break;
  }
  return 0;
}

std::int64_t UpdatedRowOf(const Kernel& kernel) {
  const bool reads = !kernel.attributes.contains("sequence") && ReplacesOperand(kernel);
  return reads ? UpdatedRowOf(kernel, kernel.target) : 1;
}

std::optional<std::string> WhyNoUpdatedRows(const Kernel& kernel) {
  if (UpdatedRowOf(kernel) > 1) return std::nullopt;
  return "only a nest that updates an input, and reads other places of a short row than it writes, reads rows whole";
}

std::size_t RowDimensions(const Kernel& kernel) {
  const std::int64_t row = UpdatedRowOf(kernel);
  std::size_t dimensions = 0;
  for (std::int64_t count = 1; count < row; ++dimensions)
    count *= kernel.space[kernel.space.size() - 1 - dimensions].extent;
  return dimensions;
}

}  // namespace hone::dsl
