#include "graph/loss.h"

namespace hone::op_margin_ranking_loss {

HONE_OP(margin_ranking_loss, "max(margin - target (input1 - input2), 0), reduced") {
  const Operand a = call.Tensor("input1"), b = call.Tensor("input2"), target = call.Tensor("target");
  const double margin = call.Real("margin", 0);
  OutputLoss(call, call.BroadcastShape({a, b, target}), call.CommonType({"input1", "input2", "target"}),
             [&](Indices at) {
               const auto real = [&](const Operand& x) { return Cast(x.Broadcast(at), ScalarType::kReal); };
               return Max(-real(target) * (real(a) - real(b)) + margin, 0.0);
             });
}

}  // namespace hone::op_margin_ranking_loss
