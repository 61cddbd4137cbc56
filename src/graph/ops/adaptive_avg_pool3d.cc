#include "graph/window.h"

namespace hone::op_adaptive_avg_pool3d {

HONE_OP(adaptive_avg_pool3d, "mean over windows that cover self evenly") { DefineAdaptiveAveragePool(call, 3); }

}  // namespace hone::op_adaptive_avg_pool3d
