#include "graph/loss.h"

namespace hone::op_triplet_margin_loss {

HONE_OP(triplet_margin_loss, "max(margin + |anchor - positive|_p - |anchor - negative|_p, 0), reduced") {
  const Operand anchor = call.Tensor("anchor"), positive = call.Tensor("positive"), negative = call.Tensor("negative");
  const double margin = call.Real("margin", 1), p = call.Real("p", 2), eps = call.Real("eps", 1e-6);
  const Operand near = PairDistance(call, anchor, positive, p, eps), far = PairDistance(call, anchor, negative, p, eps);
  std::optional<Operand> swapped;
  if (call.Bool("swap", false)) swapped = PairDistance(call, positive, negative, p, eps);
  OutputLoss(call, call.BroadcastShape({near, far}), anchor.dtype(), [&](Indices at) {
    const Expr other = swapped ? Min(far.Broadcast(at), swapped->Broadcast(at)) : far.Broadcast(at);
    return Max(near.Broadcast(at) + margin - other, 0.0);
  });
}

}  // namespace hone::op_triplet_margin_loss
