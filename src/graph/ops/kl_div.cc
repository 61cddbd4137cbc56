#include "graph/loss.h"

namespace hone::op_kl_div {

HONE_OP(kl_div, "target (log(target) - self), or exp(target) (target - self) if log_target, reduced") {
  const bool log_target = call.Bool("log_target", false);
  DefinePairLoss(call, [&](const Expr& x, const Expr& target) {
    if (log_target) return Exp(target) * (target - x);
    const Expr entropy = Select(Equal(target, 0.0), 0.0, target * Log(target));
    return entropy - target * x;
  });
}

}  // namespace hone::op_kl_div
