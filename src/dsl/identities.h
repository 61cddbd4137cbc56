// Identities that spare function calls: the same value, in single precision, from less arithmetic.
#pragma once

#include "expr/expr.h"

namespace hone::dsl {

// What gives this node's value for less, in kernels that compute in f32; nothing where there is no such thing.
//
//   tanh(softplus(x)) = n / (n + 2), n = e^x * (e^x + 2)     one function instead of three (Mish)
Expr SparedFunction(const Expr& node);

// The expression with all of them replaced.
Expr SpareFunctions(const Expr& expr);

}  // namespace hone::dsl
