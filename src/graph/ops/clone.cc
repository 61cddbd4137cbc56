#include "graph/op.h"

namespace hone::op_clone {

HONE_OP(clone, "self") { call.Output(call.Tensor("self")); }

}  // namespace hone::op_clone
