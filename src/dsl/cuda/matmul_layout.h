// How operands of a product lie, as the tensor cores and the copy engine that feeds them see it. Numbers of 16 bits are
// multiplied either way round: a box is 64 numbers of a line of 128 bytes, swizzled, times lines one after the other,
//
//   along K:   a line is 64 of K, a box has as many lines as the tile has rows;
//   across K:  a line is 64 rows (of A's M, or B's N), a box has 64 of K; there is one for each 64 rows of the tile.
//
// Both have the same bytes in a stage, and 64 rows begin at the same places.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "dsl/kernel.h"
#include "dsl/shape/matmul_shape.h"

namespace hone::dsl {

enum class OperandLayout : std::uint8_t { kAlongK, kAcrossK, kElsewise };

// kElsewise: it is not held as `type`, or more than an operand, or does not begin or step by 16 bytes as the copy
// engine wants it. Where it lies both ways, as with one row, it lies along K.
// `turned`: it may lie across K, which the tensor cores want of 16 bits alone.
OperandLayout LayoutOf(const Kernel& kernel, const MatmulShape& shape, std::size_t input, DType type, bool turned);
inline OperandLayout LayoutOf(const Kernel& kernel, const MatmulShape& shape, std::size_t input, DType type) {
  return LayoutOf(kernel, shape, input, type, Bytes(type) == 2);
}

// From line to line of such an operand; where there is but one, as if others followed it.
std::int64_t LineStride(const LoopDim& lines, const LoopDim& line, std::size_t operand);

}  // namespace hone::dsl
