#include "graph/op.h"

namespace hone::op_atanh {

HONE_OP(atanh, "inverse hyperbolic tangent") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kAtanh, x); });
}

}  // namespace hone::op_atanh
