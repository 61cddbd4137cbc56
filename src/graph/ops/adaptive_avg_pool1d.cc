#include "graph/window.h"

namespace hone::op_adaptive_avg_pool1d {

HONE_OP(adaptive_avg_pool1d, "mean over windows that cover self evenly") { DefineAdaptiveAveragePool(call, 1); }

}  // namespace hone::op_adaptive_avg_pool1d
