#include "dsl/cuda/matmul_layout.h"

namespace hone::dsl {

std::int64_t LineStride(const LoopDim& lines, const LoopDim& line, std::size_t operand) {
  return lines.extent == 1 ? (line.extent + 7) / 8 * 8 : lines.strides[operand];
}

OperandLayout LayoutOf(const Kernel& kernel, const MatmulShape& shape, std::size_t input, DType type, bool turned) {
  const Expr& expr = InputOf(kernel, input);
  if (OperandOf(expr) < 0) return OperandLayout::kElsewise;
  const auto o = static_cast<std::size_t>(expr->buffer);
  const auto whole = static_cast<std::int64_t>(16 / Bytes(type));  // elements that addresses are multiples of
  if (kernel.operand_types[o] != type || kernel.operands[o].offset % whole != 0) return OperandLayout::kElsewise;
  std::size_t varying = 0;
  for (const auto& dim : shape.batch) {
    if (dim.strides[o] == 0) continue;
    if (++varying > 1 || dim.strides[o] % whole != 0) return OperandLayout::kElsewise;
  }
  const LoopDim &rows = input == 0 ? shape.m : shape.n, &k = shape.k;
  const auto in_lines = [&](const LoopDim& lines, const LoopDim& line) {
    const std::int64_t stride = LineStride(lines, line, o);
    return line.strides[o] == 1 && stride != 0 && stride % whole == 0;
  };
  if (in_lines(rows, k)) return OperandLayout::kAlongK;
  return turned && in_lines(k, rows) ? OperandLayout::kAcrossK : OperandLayout::kElsewise;
}

}  // namespace hone::dsl
