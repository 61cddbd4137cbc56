#include "graph/op.h"

namespace hone::op_clamp_max {

HONE_OP(clamp_max, "min(self, max)") {
  call.Binary(OpCall::ResultType::kSame, [](Expr a, Expr b) { return Min(a, b); }, "self", "max");
}

}  // namespace hone::op_clamp_max
