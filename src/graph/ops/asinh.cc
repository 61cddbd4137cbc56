#include "graph/op.h"

namespace hone::op_asinh {

HONE_OP(asinh, "inverse hyperbolic sine") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kAsinh, x); });
}

}  // namespace hone::op_asinh
