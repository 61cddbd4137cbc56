#include "graph/op.h"

namespace hone::op_log1p {

HONE_OP(log1p, "log(1 + self)") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kLog1p, x); });
}

}  // namespace hone::op_log1p
