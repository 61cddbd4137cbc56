#include "graph/rms_norm.h"

namespace hone::op_rms_norm {

HONE_OP(rms_norm, "input * rsqrt(mean of input^2 + eps) * weight over the last dimensions") {
  DefineRmsNorm(call, false);
}

}  // namespace hone::op_rms_norm
