#include "graph/op.h"

namespace hone::op_cos {

HONE_OP(cos, "cosine") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kCos, x); });
}

}  // namespace hone::op_cos
