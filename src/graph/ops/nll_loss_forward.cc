#include "graph/loss.h"

namespace hone::op_nll_loss_forward {

HONE_OP(nll_loss_forward, "-weight[target] self[target], reduced; and the sum of the weights") {
  DefineNllLoss(call, true);
}

}  // namespace hone::op_nll_loss_forward
