#include "graph/softmax.h"

namespace hone::op__softmax {

HONE_OP(_softmax, "exp(self - max) over its sum along dim") { DefineSoftmax(call, SoftmaxForm::kPlain); }

}  // namespace hone::op__softmax
