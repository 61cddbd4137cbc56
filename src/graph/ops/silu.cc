#include "graph/op.h"

namespace hone::op_silu {

HONE_OP(silu, "self * sigmoid(self), which is self / (1 + exp(-self))") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return x / (Expr(1.0) + Exp(-x)); });
}

}  // namespace hone::op_silu
