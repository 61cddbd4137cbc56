// How a pool is computed: a row of outputs along the innermost dimension after the other, each window place added to
// the whole row as vectors; only the ends of a row, whose windows reach beyond the input, are computed one by one.
#pragma once

#include <optional>
#include <vector>

#include "dsl/cpu/window.h"
#include "dsl/cpu/writer.h"
#include "dsl/kernel.h"

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

void EmitPooling(const KernelProgram& program, const Kernel& kernel, Writer& writer);

}  // namespace hone::dsl
