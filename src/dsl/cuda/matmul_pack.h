// Operands of a product as the tensor cores want them: 16-bit numbers, each row along K.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/cuda/matmul_text.h"
#include "dsl/cuda/writer.h"

namespace hone::dsl {

struct Packing {
  std::int64_t parts = 2;       // 2: an element is the sum of two, high + low; 1: it is rounded
  DType element = DType::kF16;  // or kBF16, of which there is one part
  std::int64_t chunk = 64;      // of K, that has a scale in each row; 0: nothing is scaled
};

// An operand as the copy engine reads it: [part, batch, row, k].
struct PackedOperand {
  std::string buffer;  // the name of a buffer of the plan, or of a tensor
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape, strides;
  std::string scales;  // scratch memory [batch, chunk, ScaleRows]: what undoes the scaling; "" where nothing is scaled
};

// Rows of scales, padded to a multiple of every tile.
std::int64_t ScaleRows(std::int64_t rows);

// Emits the kernel that packs A (0) or B (1), in one pass over it, with what is applied to it; in `prepare` where it is
// made of parameters alone. Wants the functions of tensor_core.cuh.
PackedOperand PackOperand(const Kernel& kernel, const MatmulText& text, DeviceWriter& out, int input,
                          const Packing& packing);

}  // namespace hone::dsl
