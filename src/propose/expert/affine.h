// Index arithmetic as sums of multiples: constant + sum of coefficient * index. Private to the expert.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "graph/expr.h"
#include "problem/problem.h"

namespace hone::expert {

struct Affine {
  std::int64_t constant = 0;
  std::map<int, std::int64_t> coefficient;  // by index id; none is 0
  std::int64_t of(const IndexVar& var) const {
    const auto it = coefficient.find(var.id);
    return it == coefficient.end() ? 0 : it->second;
  }
  bool operator==(const Affine&) const = default;
};

Affine Combine(Affine a, const Affine& b, std::int64_t factor);        // a + factor * b
std::optional<Affine> AffineOf(const Expr& expr);                      // nothing for floordiv, mod, loads ...
Expr ToExpr(const Affine& affine, const std::vector<IndexVar>& vars);  // vars: all that may occur

// The least and the largest value, all of `vars` running over their extents.
struct Range {
  std::int64_t low = 0, high = 0;
};
Range RangeOf(const Affine& affine, const std::vector<IndexVar>& vars);

// The indices (one affine form a dimension) at which the row-major `flat` position lies in `extents`, if each is affine
// in `vars`: b * 12 + t * 4 + n lies at [3 b + t, n] of [6, 4] for t < 3, n < 4. Nothing if some index would need a
// division.
std::optional<std::vector<Affine>> Unflatten(const Affine& flat, const std::vector<IndexVar>& vars,
                                             const Shape& extents);

}  // namespace hone::expert
