#include "graph/op.h"

namespace hone {

HONE_OP(silu, "self * sigmoid(self)") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return x * Sigmoid(x); });
}

}  // namespace hone
