#include "graph/loss.h"

namespace hone::op_nll_loss2d {

HONE_OP(nll_loss2d, "-weight[target] self[target], reduced") { DefineNllLoss(call, false); }

}  // namespace hone::op_nll_loss2d
