#include "graph/op.h"
#include "graph/window.h"

namespace hone {

HONE_OP(avg_pool1d, "mean of each window") { DefineAveragePool(call, 1); }

}  // namespace hone
