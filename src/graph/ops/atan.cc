#include "graph/op.h"

namespace hone {

HONE_OP(atan, "arc tangent") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kAtan, x); });
}

}  // namespace hone
