#include "graph/op.h"

namespace hone {

HONE_OP(_log_softmax, "self - max - log(sum of exp(self - max)) along dim") { FindOp("log_softmax")->define(call); }

}  // namespace hone
