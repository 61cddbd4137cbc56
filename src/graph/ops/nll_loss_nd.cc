#include "graph/loss.h"

namespace hone::op_nll_loss_nd {

HONE_OP(nll_loss_nd, "-weight[target] self[target], reduced") { DefineNllLoss(call, false); }

}  // namespace hone::op_nll_loss_nd
