#include "graph/op.h"

namespace hone {

HONE_OP(cdist, "|x1[i] - x2[j]|_p") { FindOp("_cdist_forward")->define(call); }

}  // namespace hone
