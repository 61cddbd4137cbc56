#include "graph/rms_norm.h"

namespace hone {

HONE_OP(_fused_rms_norm, "rms_norm, and the factor of each row") { DefineRmsNorm(call, true); }

}  // namespace hone
