#include "graph/softmax.h"

namespace hone::op_softmax {

HONE_OP(softmax, "exp(self - max) over its sum along dim") { DefineSoftmax(call, SoftmaxForm::kPlain); }

}  // namespace hone::op_softmax
