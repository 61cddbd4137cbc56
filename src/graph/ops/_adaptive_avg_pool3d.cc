#include "graph/window.h"

namespace hone::op__adaptive_avg_pool3d {

HONE_OP(_adaptive_avg_pool3d, "mean over windows that cover self evenly") { DefineAdaptiveAveragePool(call, 3); }

}  // namespace hone::op__adaptive_avg_pool3d
