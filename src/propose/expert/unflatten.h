// Flat positions taken apart again. Private to the expert.
#pragma once

#include <optional>
#include <vector>

#include "expr/affine.h"
#include "problem/problem.h"

namespace hone::expert {

// The indices (one affine form a dimension) at which the row-major `flat` position lies in `extents`, if each is affine
// in `vars`: b * 12 + t * 4 + n lies at [3 b + t, n] of [6, 4] for t < 3, n < 4. Nothing if some index would need a
// division.
std::optional<std::vector<Affine>> Unflatten(const Affine& flat, const std::vector<IndexVar>& vars,
                                             const Shape& extents);

}  // namespace hone::expert
