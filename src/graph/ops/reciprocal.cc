#include "graph/op.h"

namespace hone::op_reciprocal {

HONE_OP(reciprocal, "1 / self") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kReciprocal, x); });
}

}  // namespace hone::op_reciprocal
