#include "graph/op.h"

namespace hone::op_sin {

HONE_OP(sin, "sine") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kSin, x); });
}

}  // namespace hone::op_sin
