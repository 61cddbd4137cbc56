// Folds that count how many of a row come before an element, as sorting is told (graph/order.h): its place in order.
// Element by element they look at the whole row; with the row's parts sorted first, at few of each.
#pragma once

#include <optional>

#include "expr/expr.h"

namespace hone {

// Whether a comes before b, strictly: a NaN is larger than all numbers.
Expr ComesBefore(const Expr& a, const Expr& b, bool descending);
// Whether the element at k comes before the one at j; of equals, the one with the smaller place does.
Expr ComesFirst(const Expr& k, const Expr& at_k, const Expr& j, const Expr& at_j, bool descending);

struct RankedFold {
  IndexVar along;  // an index of the result, the element's place
  Expr element;    // what is compared, at `along`
  bool descending = false;
};

// Nothing if the fold is not a sum of whole numbers of ComesFirst.
std::optional<RankedFold> RankedFoldOf(const ExprNode& fold);

}  // namespace hone
