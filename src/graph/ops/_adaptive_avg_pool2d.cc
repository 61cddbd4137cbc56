#include "graph/window.h"

namespace hone::op__adaptive_avg_pool2d {

HONE_OP(_adaptive_avg_pool2d, "mean over windows that cover self evenly") { DefineAdaptiveAveragePool(call, 2); }

}  // namespace hone::op__adaptive_avg_pool2d
