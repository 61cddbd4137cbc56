#include "graph/op.h"

namespace hone::op_mish {

HONE_OP(mish, "self * tanh(softplus(self))") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return x * Tanh(Softplus(x)); });
}

}  // namespace hone::op_mish
