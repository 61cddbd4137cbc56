#include "graph/window.h"

namespace hone::op_adaptive_max_pool3d {

HONE_OP(adaptive_max_pool3d, "largest element of windows that cover self evenly, and where it is") {
  DefineAdaptiveMaxPool(call, 3);
}

}  // namespace hone::op_adaptive_max_pool3d
