#include "graph/window.h"

namespace hone::op_adaptive_max_pool1d {

HONE_OP(adaptive_max_pool1d, "largest element of windows that cover self evenly, and where it is") {
  DefineAdaptiveMaxPool(call, 1);
}

}  // namespace hone::op_adaptive_max_pool1d
