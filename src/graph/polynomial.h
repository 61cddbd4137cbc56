// Series that definitions are made of.
#pragma once

#include <span>

#include "expr/expr.h"

namespace hone {

// coefficients[0] + coefficients[1] x + ...; at least one of them.
inline Expr Polynomial(std::span<const double> coefficients, const Expr& x) {
  Expr sum = coefficients.back();
  for (std::size_t i = coefficients.size() - 1; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

}  // namespace hone
