#include "graph/window.h"

namespace hone {

HONE_OP(adaptive_avg_pool3d, "mean over windows that cover self evenly") { DefineAdaptiveAveragePool(call, 3); }

}  // namespace hone
