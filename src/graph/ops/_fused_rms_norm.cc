#include "graph/rms_norm.h"

namespace hone::op__fused_rms_norm {

HONE_OP(_fused_rms_norm, "rms_norm, and the factor of each row") { DefineRmsNorm(call, true); }

}  // namespace hone::op__fused_rms_norm
