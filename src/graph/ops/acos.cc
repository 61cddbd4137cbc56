#include "graph/op.h"

namespace hone::op_acos {

HONE_OP(acos, "arc cosine") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kAcos, x); });
}

}  // namespace hone::op_acos
