// What a matmul multiplies, as its back ends see it.
#pragma once

#include <string>
#include <vector>

#include "dsl/kernel.h"
#include "dsl/loops.h"

namespace hone::dsl {

// The matrices as loops see them: batches that all operands continue through have become rows.
struct MatmulShape {
  std::vector<LoopDim> batch;
  LoopDim m, n, k;
  std::vector<std::vector<std::int64_t>> strides;  // operand -> batch..., m, n, k
  std::vector<std::int64_t> target;                // likewise

  explicit MatmulShape(const Kernel& kernel);

  // An index a dimension, in the order of `strides`.
  std::vector<std::string> Index(const std::string& i, const std::string& j, const std::string& p) const;
};

}  // namespace hone::dsl
