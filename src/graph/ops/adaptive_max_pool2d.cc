#include "graph/window.h"

namespace hone::op_adaptive_max_pool2d {

HONE_OP(adaptive_max_pool2d, "largest element of windows that cover self evenly, and where it is") {
  DefineAdaptiveMaxPool(call, 2);
}

}  // namespace hone::op_adaptive_max_pool2d
