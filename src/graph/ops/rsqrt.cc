#include "graph/op.h"

namespace hone::op_rsqrt {

HONE_OP(rsqrt, "1 / sqrt(self)") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kRsqrt, x); });
}

}  // namespace hone::op_rsqrt
