#include "graph/softmax.h"

namespace hone {

HONE_OP(softmax, "exp(self - max) over its sum along dim") { DefineSoftmax(call, SoftmaxForm::kPlain); }

}  // namespace hone
