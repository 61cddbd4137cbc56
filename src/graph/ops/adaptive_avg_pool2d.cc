#include "graph/window.h"

namespace hone::op_adaptive_avg_pool2d {

HONE_OP(adaptive_avg_pool2d, "mean over windows that cover self evenly") { DefineAdaptiveAveragePool(call, 2); }

}  // namespace hone::op_adaptive_avg_pool2d
