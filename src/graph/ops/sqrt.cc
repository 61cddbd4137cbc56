#include "graph/op.h"

namespace hone::op_sqrt {

HONE_OP(sqrt, "square root") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kSqrt, x); });
}

}  // namespace hone::op_sqrt
