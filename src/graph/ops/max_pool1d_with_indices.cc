#include "graph/window.h"

namespace hone {

HONE_OP(max_pool1d_with_indices, "largest element of each window, and where it is") { DefineMaxPool(call, 1); }

}  // namespace hone
