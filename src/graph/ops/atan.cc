#include "graph/op.h"

namespace hone::op_atan {

HONE_OP(atan, "arc tangent") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kAtan, x); });
}

}  // namespace hone::op_atan
