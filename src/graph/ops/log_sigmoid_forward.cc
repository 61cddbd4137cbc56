#include "graph/op.h"

namespace hone::op_log_sigmoid_forward {

HONE_OP(log_sigmoid_forward, "log(sigmoid(self)), and exp(-|self|), which its gradient uses") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Min(x, 0.0) - Apply(UnaryOp::kLog1p, Exp(-Abs(x))); });
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Exp(-Abs(x)); });
}

}  // namespace hone::op_log_sigmoid_forward
