#include "graph/loss.h"

namespace hone::op_nll_loss {

HONE_OP(nll_loss, "-weight[target] self[target], reduced") { DefineNllLoss(call, false); }

}  // namespace hone::op_nll_loss
