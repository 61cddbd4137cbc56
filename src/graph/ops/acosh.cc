#include "graph/op.h"

namespace hone::op_acosh {

HONE_OP(acosh, "inverse hyperbolic cosine") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kAcosh, x); });
}

}  // namespace hone::op_acosh
