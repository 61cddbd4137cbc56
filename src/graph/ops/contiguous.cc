#include "graph/op.h"

namespace hone::op_contiguous {

HONE_OP(contiguous, "self") { call.Output(call.Tensor("self")); }

}  // namespace hone::op_contiguous
