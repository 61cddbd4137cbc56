// The functions of the scalar language on numbers.
#pragma once

#include <optional>

#include "graph/expr.h"

namespace hone {

// In double precision; truth values are 0 and 1. NaN where a function is not defined.
double ValueOf(UnaryOp op, double x);
double ValueOf(BinaryOp op, double a, double b);

// Of real constants; nothing where the value is not finite or the type of the result is another one.
std::optional<Expr> Evaluate(UnaryOp op, const Expr& x);
std::optional<Expr> Evaluate(BinaryOp op, const Expr& a, const Expr& b);

}  // namespace hone
