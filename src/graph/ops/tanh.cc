#include "graph/op.h"

namespace hone {

HONE_OP(tanh, "hyperbolic tangent") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kTanh, x); });
}

}  // namespace hone
