#include "graph/window.h"

namespace hone {

HONE_OP(max_pool3d, "largest element of each window") { DefineMaxPool(call, 3); }

}  // namespace hone
