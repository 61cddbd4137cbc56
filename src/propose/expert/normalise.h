// Index arithmetic made as simple as it can be before anything is recognised: what is known of an index's range decides
// comparisons, divisions and remainders; an index that is divided is split in two. The values and their row-major order
// stay.
#pragma once

#include <vector>

#include "expr/expr.h"

namespace hone::expert {

// Divisions, remainders and comparisons of affine index expressions that the extents decide.
Expr Simplify(const Expr& expr);

// Simplified; indices of extent 1 are gone; in floordiv(v, c) and mod(v, c), with c dividing v's extent, v is c * v1 +
// v2, in `space` and in folds alike (groups of channels, repeats, upsampling: all affine again). Folds over nothing and
// over one element are gone too.
struct Normal {
  std::vector<IndexVar> space;
  Expr value;
};
Normal Normalise(std::vector<IndexVar> space, Expr value);

}  // namespace hone::expert
