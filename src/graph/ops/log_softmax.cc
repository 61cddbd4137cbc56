#include "graph/softmax.h"

namespace hone::op_log_softmax {

HONE_OP(log_softmax, "self - max - log(sum of exp(self - max)) along dim") { DefineSoftmax(call, SoftmaxForm::kLog); }

}  // namespace hone::op_log_softmax
