// beta * added + alpha * product: what addmm, baddbmm and addbmm share.
#pragma once

#include "expr/expr.h"

namespace hone {

// In numbers of `type`; a factor of 1 is no factor, and a beta of 0 leaves out what it would scale, NaN or not.
Expr ScaledSum(Expr product, double alpha, const Expr& added, double beta, ScalarType type);

}  // namespace hone
