#include "graph/window.h"

namespace hone {

HONE_OP(adaptive_avg_pool1d, "mean over windows that cover self evenly") { DefineAdaptiveAveragePool(call, 1); }

}  // namespace hone
