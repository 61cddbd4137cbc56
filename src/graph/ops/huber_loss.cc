#include "graph/op.h"

namespace hone {

HONE_OP(huber_loss, "|d| < delta ? d^2 / 2 : delta (|d| - delta / 2) for d = self - target, reduced") {
  const std::int64_t reduction = call.Int("reduction", 1);  // 0 none, 1 mean, 2 sum
  const Operand x = call.Tensor("self"), target = call.Tensor("target");
  const DType dtype = call.CommonType({"self", "target"});
  const Shape shape = call.BroadcastShape({x, target});
  if (reduction < 0 || reduction > 2) call.Fail("reduction has to be 0, 1 or 2");
  const double delta = call.Real("delta", 1);
  const auto loss = [&](Indices at) {
    const Expr d = Cast(x.Broadcast(at), ScalarTypeOf(dtype)) - Cast(target.Broadcast(at), ScalarTypeOf(dtype));
    return Select(Less(Abs(d), delta), Expr(0.5) * d * d, Expr(delta) * (Abs(d) - 0.5 * delta));
  };
  if (reduction == 0) return call.Output(shape, dtype, loss);
  call.Output({}, dtype, [&](Indices) {
    const Expr sum = Fold(ReduceOp::kSum, shape, loss);
    return reduction == 1 ? sum / static_cast<double>(ElementCount(shape)) : sum;
  });
}

}  // namespace hone
