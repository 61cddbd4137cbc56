#include "graph/op.h"

namespace hone::op_leaky_relu {

HONE_OP(leaky_relu, "self > 0 ? self : negative_slope * self") {
  const double slope = call.Real("negative_slope", 0.01);
  call.Unary(OpCall::ResultType::kReal, [&](Expr x) { return Select(Less(0.0, x), x, Expr(slope) * x); });
}

}  // namespace hone::op_leaky_relu
