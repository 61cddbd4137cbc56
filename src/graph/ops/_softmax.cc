#include "graph/softmax.h"

namespace hone {

HONE_OP(_softmax, "exp(self - max) over its sum along dim") { DefineSoftmax(call, SoftmaxForm::kPlain); }

}  // namespace hone
