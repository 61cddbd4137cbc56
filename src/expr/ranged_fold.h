// Folds that take only the terms of a range that data say, as sums over segments do, which follow one another, and sums
// of rows of lengths of their own: sum over k of (begin(i) <= k and k < end(i) ? term : 0). A loop goes from where the
// range begins to where it ends, and looks at nothing else.
#pragma once

#include <optional>

#include "expr/expr.h"

namespace hone {

struct RangedFold {
  IndexVar index;   // of those that are folded: the one that the range is of
  Expr begin, end;  // whole numbers from 0 to the index's extent, of other indices than those that are folded; an
                    // empty range may end before it begins
  Expr body;        // what is folded within the range
};

// Nothing if the fold is not that: it has no such range, or only one that indices alone say.
std::optional<RangedFold> RangedFoldOf(const ExprNode& fold);

// Among how many ranges the terms are shared out, where what is folded does not hang on whose it is; else 1.
double Segments(const RangedFold& fold);

}  // namespace hone
