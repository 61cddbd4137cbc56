#include "graph/op.h"

namespace hone {

HONE_OP(_softmax, "exp(self - max) over its sum along dim") { FindOp("softmax")->define(call); }

}  // namespace hone
