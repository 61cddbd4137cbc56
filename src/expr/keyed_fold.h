// Folds that take only the terms whose key is an index of the result, as what is scattered is told from the side of
// what is written: sum over k of (key(k) == i ? term : 0). Element by element they look at all terms; with the terms
// listed by their keys first, at those that count.
#pragma once

#include <optional>
#include <vector>

#include "expr/expr.h"

namespace hone {

struct KeyedFold {
  ReduceOp op = ReduceOp::kSum;
  std::vector<IndexVar> over;
  Expr key;                      // a whole number of `over` and `others`
  IndexVar index;                // the index of the result that it is compared with
  std::vector<IndexVar> others;  // the other indices, of the result, that it reads
  Expr term;                     // of what is taken
  Expr neutral;                  // stands for what is not, a constant
};

// Nothing if the fold is not that: its key holds a fold, or is known from indices alone.
std::optional<KeyedFold> KeyedFoldOf(const ExprNode& fold);

}  // namespace hone
