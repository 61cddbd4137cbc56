#include "graph/scaled_sum.h"

#include <utility>

namespace hone {

Expr ScaledSum(Expr product, double alpha, const Expr& added, double beta, ScalarType type) {
  if (alpha != 1) product = std::move(product) * Cast(Expr(alpha), type);
  if (beta == 0) return product;
  return product + (beta == 1 ? added : added * Cast(Expr(beta), type));
}

}  // namespace hone
