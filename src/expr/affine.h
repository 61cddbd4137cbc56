// Whole numbers as they stand in an expression, as sums of multiples of indices: constant + sum of coefficient * index.
// Nothing is simplified; expr/linear_index.h does that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "expr/expr.h"

namespace hone {

struct Affine {
  std::int64_t constant = 0;
  std::map<int, std::int64_t> coefficient;  // by index id; none is 0
  std::int64_t of(int id) const {
    const auto it = coefficient.find(id);
    return it == coefficient.end() ? 0 : it->second;
  }
  std::int64_t of(const IndexVar& var) const { return of(var.id); }
  bool operator==(const Affine&) const = default;
};

Affine Combine(Affine a, const Affine& b, std::int64_t factor);  // a + factor * b
// Nothing for floordiv, mod, loads ... Indices of extent 1, which are always 0, fall away.
std::optional<Affine> AffineOf(const Expr& expr);
Expr ToExpr(const Affine& affine, const std::vector<IndexVar>& vars);  // vars: all that may occur

struct WholeRange {
  std::int64_t low = 0, high = 0;  // both belong to it
};
// The least and the largest value, all of `vars` running over their extents; what is no affine sum is for IndexRange of
// expr/linear_index.h.
WholeRange RangeOf(const Affine& affine, const std::vector<IndexVar>& vars);

// Any whole number: `sum`, and multiples of what is not affine. Indices of extent 1 are kept.
struct LinearForm {
  Affine sum;
  std::vector<std::pair<Expr, std::int64_t>> rest;
};
LinearForm LinearOf(const Expr& whole);

}  // namespace hone
