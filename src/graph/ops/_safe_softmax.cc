#include "graph/softmax.h"

namespace hone {

HONE_OP(_safe_softmax, "softmax, but zero where all of a row is minus infinity") {
  DefineSoftmax(call, SoftmaxForm::kSafe);
}

}  // namespace hone
