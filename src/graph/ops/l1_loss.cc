#include "graph/loss.h"

namespace hone::op_l1_loss {

HONE_OP(l1_loss, "|self - target|, reduced") {
  const DType dtype = call.CommonType({"self", "target"});
  DefinePairLoss(call, [&](const Expr& x, const Expr& target) { return Abs(Held(x - target, dtype)); });
}

}  // namespace hone::op_l1_loss
