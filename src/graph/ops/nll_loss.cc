#include "graph/loss.h"

namespace hone {

HONE_OP(nll_loss, "-weight[target] self[target], reduced") { DefineNllLoss(call, false); }

}  // namespace hone
