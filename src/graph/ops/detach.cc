#include "graph/op.h"

namespace hone::op_detach {

HONE_OP(detach, "self") { call.Output(call.Tensor("self")); }

}  // namespace hone::op_detach
