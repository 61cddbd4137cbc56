#include "graph/op.h"

namespace hone::op_alias {

HONE_OP(alias, "self") { call.Output(call.Tensor("self")); }

}  // namespace hone::op_alias
