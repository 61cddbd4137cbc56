#include "graph/op.h"
#include "graph/window.h"

namespace hone::op_avg_pool3d {

HONE_OP(avg_pool3d, "mean of each window") { DefineAveragePool(call, 3); }

}  // namespace hone::op_avg_pool3d
