#include "graph/window.h"

namespace hone::op_max_pool2d {

HONE_OP(max_pool2d, "largest element of each window") { DefineMaxPool(call, 2); }

}  // namespace hone::op_max_pool2d
