#include "graph/op.h"

namespace hone::op_sinh {

HONE_OP(sinh, "hyperbolic sine") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kSinh, x); });
}

}  // namespace hone::op_sinh
