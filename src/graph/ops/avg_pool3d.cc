#include "graph/op.h"
#include "graph/window.h"

namespace hone {

HONE_OP(avg_pool3d, "mean of each window") { DefineAveragePool(call, 3); }

}  // namespace hone
