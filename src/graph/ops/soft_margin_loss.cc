#include "graph/loss.h"

namespace hone::op_soft_margin_loss {

HONE_OP(soft_margin_loss, "log(1 + exp(-target self)), reduced") {
  DefinePairLoss(call, [](const Expr& x, const Expr& target) { return Apply(UnaryOp::kLog1p, Exp(-target * x)); });
}

}  // namespace hone::op_soft_margin_loss
