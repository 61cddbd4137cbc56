// Operands of f32 whose tiles become halves where they are multiplied. A kernel that packs an operand before
// (matmul_pack.h) reads and writes all of it, which takes longer than the product where few tiles read an element:
// 256 x 524288 x 256, or a convolution of one pixel to 128 channels. Here the copy engine brings a stage's tile of it
// as it lies, and a warpgroup, a thread a row, makes a stage of it: scaled, as one or two halves. The product takes 1.6
// times as long then (docs/measured/cuda_matmul.md).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "dsl/cuda/matmul_layout.h"
#include "dsl/cuda/tensor_settings.h"
#include "dsl/cuda/writer.h"

namespace hone::dsl {

// How such an operand of f32 lies: as LayoutOf has it, and across K, too.
OperandLayout RawLayoutOf(const Kernel& kernel, const MatmulShape& shape, std::size_t input);

// The box of it that the copy engine brings, [1, 1, lines, line], of which a stage has `boxes`, and how it is swizzled.
struct RawBox {
  std::int64_t lines = 0, line = 0, boxes = 1;
  int swizzle = 0;
};
RawBox RawBoxOf(OperandLayout lies);

// One warpgroup's work on A (0) or B (1).
struct Splitter {
  int input = 0;
  OperandLayout lies = OperandLayout::kAlongK;
  std::string row0, batch;             // where the tile begins, the number of its batch, by what `places` declares
  std::int64_t tile_at = 0;            // in a stage
  std::int64_t scales_at = 0;          // in a stage's scales
  std::int64_t raw_at = 0;             // in the ring
  std::int64_t items = 0;              // that all blocks have
  std::function<void()> places;        // lines that declare those of `item`: m0, n0, first_step, last_step
  std::function<void()> copy_another;  // what the other operand's copy is, where that is packed; or nothing
};

// Wants the names that matmul_tensor.cc gives a ring, and in shared memory raw[2], barriers that count a tile's bytes,
// and NextTile next_tiles[2] of tensor_halves.cuh.
void EmitSplitter(DeviceWriter& out, const TensorSettings& settings, const Splitter& splitter);

}  // namespace hone::dsl
