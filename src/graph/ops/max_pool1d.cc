#include "graph/window.h"

namespace hone::op_max_pool1d {

HONE_OP(max_pool1d, "largest element of each window") { DefineMaxPool(call, 1); }

}  // namespace hone::op_max_pool1d
