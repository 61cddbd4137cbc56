#include "graph/op.h"
#include "graph/window.h"

namespace hone::op_avg_pool2d {

HONE_OP(avg_pool2d, "mean of each window") { DefineAveragePool(call, 2); }

}  // namespace hone::op_avg_pool2d
