#include "graph/op.h"

namespace hone {

HONE_OP(contiguous, "self") { call.Output(call.Tensor("self")); }

}  // namespace hone
