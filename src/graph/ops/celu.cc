#include "graph/op.h"

namespace hone::op_celu {

HONE_OP(celu, "max(self, 0) + min(alpha (exp(self / alpha) - 1), 0)") {
  const double alpha = call.Real("alpha", 1);
  if (alpha == 0) return call.Fail("alpha must not be 0");
  call.Unary(OpCall::ResultType::kReal,
             [&](Expr x) { return Select(Less(0.0, x), x, Expr(alpha) * Apply(UnaryOp::kExpm1, x / alpha)); });
}

}  // namespace hone::op_celu
