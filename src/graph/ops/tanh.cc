#include "graph/op.h"

namespace hone::op_tanh {

HONE_OP(tanh, "hyperbolic tangent") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kTanh, x); });
}

}  // namespace hone::op_tanh
