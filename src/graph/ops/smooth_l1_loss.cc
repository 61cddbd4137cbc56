#include "graph/loss.h"

namespace hone::op_smooth_l1_loss {

HONE_OP(smooth_l1_loss, "|d| < beta ? d^2 / (2 beta) : |d| - beta / 2 for d = self - target, reduced") {
  const double beta = call.Real("beta", 1);
  DefinePairLoss(call, [&](const Expr& x, const Expr& target) {
    const Expr d = x - target;
    return beta == 0 ? Abs(d) : Select(Less(Abs(d), beta), Expr(0.5) * d * d / beta, Abs(d) - 0.5 * beta);
  });
}

}  // namespace hone::op_smooth_l1_loss
