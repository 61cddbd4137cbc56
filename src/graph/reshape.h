// Where elements lie that are seen in several shapes.
#pragma once

#include <vector>

#include "expr/expr.h"
#include "problem/problem.h"

namespace hone {

// The indices in `to` of the element that has these in `from`, which has as many elements in the same row-major order:
// as simple as they can be. Divided is only what dimensions of `from` are part of; an index beyond the end of its
// dimension, as it may be behind a condition, is beyond that of one that corresponds. All 0 where there are no
// elements.
std::vector<Expr> InShape(const std::vector<Expr>& indices, const Shape& from, const Shape& to);

}  // namespace hone
