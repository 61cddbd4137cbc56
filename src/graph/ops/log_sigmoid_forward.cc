#include "graph/op.h"

namespace hone {

HONE_OP(log_sigmoid_forward, "log(sigmoid(self)), and an empty second result") {
  const Operand x = call.Tensor("self");
  call.Elementwise(x.dtype(), {x}, [](auto v) { return Min(v[0], 0.0) - Apply(UnaryOp::kLog1p, Exp(-Abs(v[0]))); });
  call.Output({0}, x.dtype(), [](Indices) { return Expr(0.0); });
}

}  // namespace hone
