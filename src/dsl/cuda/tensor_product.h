// wgmma of compute capability 9.0, whose operands are in shared memory, as text: it names its registers one by one.
#pragma once

#include <cstdint>
#include <string>

#include "base/dtype.h"

namespace hone::dsl {

// What multiplies, as wgmma is told: a program may do so in all types and layouts, with tiles of the same size.
struct ProductKind {
  DType a = DType::kF16, b = DType::kF16;
  bool a_across = false, b_across = false;

  std::int64_t depth() const { return static_cast<std::int64_t>(32 / Bytes(a)); }  // of K, that it multiplies
  std::string Name() const;                                                        // of the function
};

// The function, for tiles of 64 x n x 32 bytes. Others of other n have the same name.
std::string ProductText(std::int64_t n, const ProductKind& kind);

}  // namespace hone::dsl
