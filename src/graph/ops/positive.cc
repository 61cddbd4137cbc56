#include "graph/op.h"

namespace hone {

HONE_OP(positive, "self") { call.Output(call.Tensor("self")); }

}  // namespace hone
