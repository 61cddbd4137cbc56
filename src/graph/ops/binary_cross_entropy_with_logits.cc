#include "graph/loss.h"

namespace hone::op_binary_cross_entropy_with_logits {

HONE_OP(binary_cross_entropy_with_logits, "binary_cross_entropy of sigmoid(self), never overflowing; reduced") {
  const Operand x = call.Tensor("self"), target = call.Tensor("target");
  const auto weight = call.MaybeTensor("weight"), positive = call.MaybeTensor("pos_weight");
  std::vector<Operand> all = {x, target};
  for (const auto& given : {weight, positive}) {
    if (given) all.push_back(*given);
  }
  OutputLoss(call, call.BroadcastShape(all), x.dtype(), [&](Indices at) {
    const Expr v = x.Broadcast(at), t = target.Broadcast(at);
    // log(1 + exp(-v))
    const Expr fall = Softplus(-v);
    const Expr share = positive ? (positive->Broadcast(at) - 1.0) * t + 1.0 : Expr();
    const Expr loss = (Expr(1.0) - t) * v + (positive ? share * fall : fall);
    return weight ? loss * weight->Broadcast(at) : loss;
  });
}

}  // namespace hone::op_binary_cross_entropy_with_logits
