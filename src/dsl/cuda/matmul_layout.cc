#include "dsl/cuda/matmul_layout.h"

namespace hone::dsl {

OperandLayout LayoutOf(const Kernel& kernel, const MatmulShape& shape, std::size_t input, DType type) {
  const Expr& expr = InputOf(kernel, input);
  if (OperandOf(expr) < 0) return OperandLayout::kElsewise;
  const auto o = static_cast<std::size_t>(expr->buffer);
  if (kernel.operand_types[o] != type || kernel.operands[o].offset % 8 != 0) return OperandLayout::kElsewise;
  std::size_t varying = 0;
  for (const auto& dim : shape.batch) {
    if (dim.strides[o] == 0) continue;
    if (++varying > 1 || dim.strides[o] % 8 != 0) return OperandLayout::kElsewise;
  }
  const std::int64_t rows = (input == 0 ? shape.m : shape.n).strides[o], k = shape.k.strides[o];
  const auto lines = [](std::int64_t stride) { return stride != 0 && stride % 8 == 0; };
  if (k == 1 && lines(rows)) return OperandLayout::kAlongK;
  return rows == 1 && lines(k) ? OperandLayout::kAcrossK : OperandLayout::kElsewise;
}

}  // namespace hone::dsl
