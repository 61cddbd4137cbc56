#include "graph/op.h"
#include "graph/window.h"

namespace hone::op_avg_pool1d {

HONE_OP(avg_pool1d, "mean of each window") { DefineAveragePool(call, 1); }

}  // namespace hone::op_avg_pool1d
