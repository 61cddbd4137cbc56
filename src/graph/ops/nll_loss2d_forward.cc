#include "graph/loss.h"

namespace hone::op_nll_loss2d_forward {

HONE_OP(nll_loss2d_forward, "-weight[target] self[target], reduced; and the sum of the weights") {
  DefineNllLoss(call, true);
}

}  // namespace hone::op_nll_loss2d_forward
