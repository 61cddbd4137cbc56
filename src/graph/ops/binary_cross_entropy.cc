#include "graph/loss.h"

namespace hone::op_binary_cross_entropy {

HONE_OP(binary_cross_entropy,
        "-(target log(self) + (1 - target) log(1 - self)) * weight, logs no less than -100; reduced") {
  const Operand x = call.Tensor("self"), target = call.Tensor("target");
  const auto weight = call.MaybeTensor("weight");
  if (x.shape() != target.shape()) return call.Fail("self and target differ in shape");
  OutputLoss(call, x.shape(), x.dtype(), [&](Indices at) {
    const Expr p = x(at), t = target(at);
    const Expr loss = (t - 1.0) * Max(Apply(UnaryOp::kLog1p, -p), -100.0) - t * Max(Log(p), -100.0);
    return weight ? loss * weight->Broadcast(at) : loss;
  });
}

}  // namespace hone::op_binary_cross_entropy
