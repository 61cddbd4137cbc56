#include "graph/softmax.h"

namespace hone::op__safe_softmax {

HONE_OP(_safe_softmax, "softmax, but zero where all of a row is minus infinity") {
  DefineSoftmax(call, SoftmaxForm::kSafe);
}

}  // namespace hone::op__safe_softmax
