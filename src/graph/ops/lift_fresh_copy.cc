#include "graph/op.h"

namespace hone::op_lift_fresh_copy {

HONE_OP(lift_fresh_copy, "self") { call.Output(call.Tensor("self")); }

}  // namespace hone::op_lift_fresh_copy
