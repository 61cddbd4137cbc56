#include "graph/op.h"

namespace hone {

HONE_OP(tan, "tangent") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kTan, x); });
}

}  // namespace hone
