// Indices as sums of multiples, in one form in which equal indices are equal: quotients and remainders are taken apart
// where that is possible, and put together where they belong to one value. Slower than expr/affine.h, which reads an
// expression as it stands.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "expr/expr.h"

namespace hone {

// An index as a sum: constant + Sum of coefficient * atom.
struct LinearIndex {
  std::int64_t constant = 0;
  std::vector<std::pair<Expr, std::int64_t>> atoms;
};
LinearIndex ToLinear(const Expr& index);
Expr FromLinear(LinearIndex sum);
void AddTo(LinearIndex& sum, const LinearIndex& more, std::int64_t times);
std::pair<double, double> RangeOf(const LinearIndex& sum);  // infinite where unknown
// The least and largest value of a whole-number expression, infinite where unknown. dsl/element.h says why kernels have
// another.
std::pair<double, double> IndexRange(const Expr& index);

}  // namespace hone
