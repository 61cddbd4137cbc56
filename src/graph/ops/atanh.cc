#include "graph/op.h"

namespace hone {

HONE_OP(atanh, "inverse hyperbolic tangent") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kAtanh, x); });
}

}  // namespace hone
