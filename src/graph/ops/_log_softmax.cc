#include "graph/softmax.h"

namespace hone::op__log_softmax {

HONE_OP(_log_softmax, "self - max - log(sum of exp(self - max)) along dim") { DefineSoftmax(call, SoftmaxForm::kLog); }

}  // namespace hone::op__log_softmax
