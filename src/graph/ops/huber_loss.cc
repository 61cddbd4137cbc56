#include "graph/loss.h"

namespace hone::op_huber_loss {

HONE_OP(huber_loss, "|d| < delta ? d^2 / 2 : delta (|d| - delta / 2) for d = self - target, reduced") {
  const double delta = call.Real("delta", 1);
  DefinePairLoss(call, [&](const Expr& x, const Expr& target) {
    const Expr d = x - target;
    return Select(Less(Abs(d), delta), Expr(0.5) * d * d, Expr(delta) * (Abs(d) - 0.5 * delta));
  });
}

}  // namespace hone::op_huber_loss
