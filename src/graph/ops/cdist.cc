#include "graph/op.h"

namespace hone::op_cdist {

HONE_OP(cdist, "|x1[i] - x2[j]|_p") { FindOp("_cdist_forward")->define(call); }

}  // namespace hone::op_cdist
