#include "graph/op.h"

namespace hone::op_log_sigmoid {

HONE_OP(log_sigmoid, "log(sigmoid(self))") {
  call.Unary(OpCall::ResultType::kReal,
             [](Expr x) -> Expr { return Min(x, 0.0) - Apply(UnaryOp::kLog1p, Exp(-Abs(x))); });
}

}  // namespace hone::op_log_sigmoid
