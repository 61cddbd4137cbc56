#include "graph/window.h"

namespace hone {

HONE_OP(max_pool1d, "largest element of each window") { DefineMaxPool(call, 1); }

}  // namespace hone
