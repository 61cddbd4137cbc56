// Sums that count a part of their terms alone: Select(begin <= k and k < end, term, 0), as of groups and bands. Pure.
#pragma once

#include <functional>
#include <optional>

#include "expr/expr.h"

namespace hone {

// The terms of a sum over one index that are not zero: from `begin` on and before `end`, whole numbers that may lie
// outside of the index's own range. An end that nothing says is an empty Expr.
struct FoldRange {
  Expr begin, end;
};

// `exact` says what carries no rounding.
std::optional<FoldRange> RangeOf(const ExprNode& fold, const std::function<bool(const Expr&)>& exact);

// `value` with Select(c, a * b, 0) as a sum's term written as Select(c, a, 0) * Select(c, b, 0): the product of a
// contraction, as it is without a condition.
Expr WithGuardedFactors(const Expr& value, const std::function<bool(const Expr&)>& exact);

}  // namespace hone
