// Loads that slide over dimensions: x[n, c, oh * stride + kh * dilation - padding, ..], under the conditions that keep
// them inside. What convolutions and pools read.
#pragma once

#include <optional>
#include <vector>

#include "propose/expert/memory.h"

namespace hone::expert {

// One dimension of what is loaded.
struct WindowDim {
  std::int64_t extent = 1;     // of the memory that is seen
  std::int64_t step = 0;       // in elements, from one index to the next
  Affine place;                // the index, times `divisor`
  std::int64_t divisor = 1;    // above 1: the place counts only where it divides (transposed convolution)
  std::vector<IndexVar> kept;  // of `place`, in order of the piece's space
  std::vector<IndexVar> folded;
  bool guarded = false;  // some condition keeps it inside
};

struct WindowLoad {
  int buffer = -1;  // whose memory
  std::int64_t offset = 0;
  ScalarType type = ScalarType::kReal;
  std::vector<WindowDim> dims;  // without those that stay at 0
  double outside = 0;           // the value where a condition fails
  bool conditions = false;      // there are any
};

// The load (a load, or a select of one) if that is all it is and its conditions are bounds and divisibility only.
std::optional<WindowLoad> ReadWindow(const Memory& memory, const Expr& expr, const std::vector<IndexVar>& space,
                                     const std::vector<IndexVar>& over);

}  // namespace hone::expert
