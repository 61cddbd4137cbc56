#include "graph/window.h"

namespace hone::op_max_pool3d {

HONE_OP(max_pool3d, "largest element of each window") { DefineMaxPool(call, 3); }

}  // namespace hone::op_max_pool3d
