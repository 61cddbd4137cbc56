#include "graph/op.h"

namespace hone {

HONE_OP(detach, "self") { call.Output(call.Tensor("self")); }

}  // namespace hone
