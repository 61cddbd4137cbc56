#include "graph/loss.h"

namespace hone::op_mse_loss {

HONE_OP(mse_loss, "(self - target)^2, reduced") {
  DefinePairLoss(call, [](const Expr& x, const Expr& target) {
    const Expr d = x - target;
    return d * d;
  });
}

}  // namespace hone::op_mse_loss
