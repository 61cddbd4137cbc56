#include "graph/window.h"

namespace hone::op_max_pool1d_with_indices {

HONE_OP(max_pool1d_with_indices, "largest element of each window, and where it is") { DefineMaxPool(call, 1); }

}  // namespace hone::op_max_pool1d_with_indices
