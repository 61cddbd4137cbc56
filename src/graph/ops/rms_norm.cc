#include "graph/rms_norm.h"

namespace hone {

HONE_OP(rms_norm, "input * rsqrt(mean of input^2 + eps) * weight over the last dimensions") {
  DefineRmsNorm(call, false);
}

}  // namespace hone
