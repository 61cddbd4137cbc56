#include "graph/op.h"

namespace hone::op_sigmoid {

HONE_OP(sigmoid, "1 / (1 + exp(-self))") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Sigmoid(x); });
}

}  // namespace hone::op_sigmoid
