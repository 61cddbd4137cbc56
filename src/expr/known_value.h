// What an expression comes to where a part of it is a number: what a mask leaves of a score.
#pragma once

#include <optional>

#include "expr/expr.h"

namespace hone {

// The value of `expr` where its node `part` is `number`, if that alone decides it. What is multiplied by 0 or added to
// an infinity is taken to be finite.
std::optional<double> KnownWhere(const Expr& expr, const ExprNode& part, double number);

}  // namespace hone
