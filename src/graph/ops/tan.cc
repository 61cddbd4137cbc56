#include "graph/op.h"

namespace hone::op_tan {

HONE_OP(tan, "tangent") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kTan, x); });
}

}  // namespace hone::op_tan
