#include "graph/loss.h"

namespace hone {

HONE_OP(nll_loss2d, "-weight[target] self[target], reduced") { DefineNllLoss(call, false); }

}  // namespace hone
