#include "graph/op.h"
#include "graph/window.h"

namespace hone::op_max_pool2d_with_indices {

HONE_OP(max_pool2d_with_indices, "largest element of each window, and where it is") { DefineMaxPool(call, 2); }

}  // namespace hone::op_max_pool2d_with_indices
