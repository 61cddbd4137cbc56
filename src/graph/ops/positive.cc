#include "graph/op.h"

namespace hone::op_positive {

HONE_OP(positive, "self") { call.Output(call.Tensor("self")); }

}  // namespace hone::op_positive
