// Identities that spare function calls: the same value, in single precision, from less arithmetic.
#pragma once

#include "expr/expr.h"

namespace hone::dsl {

// The expression with what can be had for less replaced; for kernels that compute in f32 only.
//
//   tanh(softplus(x)) = n / (n + 2), n = e^x * (e^x + 2)     one function instead of three (Mish)
Expr SpareFunctions(const Expr& expr);

}  // namespace hone::dsl
