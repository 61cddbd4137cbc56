// What a pool folds, as its back ends see it.
#pragma once

#include <optional>
#include <vector>

#include "dsl/kernel.h"
#include "dsl/shape/window.h"

namespace hone::dsl {

// pool's iteration space is [result dimensions.. | window.. | input places..], of the last two one a pooled axis.
struct Pooling {
  explicit Pooling(const Kernel& kernel);

  std::size_t rank = 1;           // of the result
  std::vector<std::size_t> axes;  // of the result, sorted
  std::vector<WindowDim> dims;    // one an axis
  int inside = 0;                 // what a mean divides by: 0 = the window, 1 = places in the input, 2 = and padding
  bool largest = false;           // folds by the largest, not the sum
  bool arg = false;               // and gives its place
  Expr input;                     // an element as it is folded

  std::size_t Window(std::size_t axis) const { return rank + axis; }
  std::size_t Place(std::size_t axis) const { return rank + axes.size() + axis; }
  // Which pooled axis a result dimension is.
  std::optional<std::size_t> AxisOf(std::size_t dim) const;
  double WindowCount() const;
};

}  // namespace hone::dsl
