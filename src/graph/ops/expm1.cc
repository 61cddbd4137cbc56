#include "graph/op.h"

namespace hone::op_expm1 {

HONE_OP(expm1, "exp(self) - 1") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kExpm1, x); });
}

}  // namespace hone::op_expm1
