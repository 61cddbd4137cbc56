#include "graph/op.h"
#include "graph/window.h"

namespace hone {

HONE_OP(avg_pool2d, "mean of each window") { DefineAveragePool(call, 2); }

}  // namespace hone
