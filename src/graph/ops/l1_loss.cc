#include "graph/loss.h"

namespace hone {

HONE_OP(l1_loss, "|self - target|, reduced") {
  DefinePairLoss(call, [](const Expr& x, const Expr& target) { return Abs(x - target); });
}

}  // namespace hone
