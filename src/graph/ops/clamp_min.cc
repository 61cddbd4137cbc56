#include "graph/op.h"

namespace hone::op_clamp_min {

HONE_OP(clamp_min, "max(self, min)") {
  call.Binary(OpCall::ResultType::kSame, [](Expr a, Expr b) { return Max(a, b); }, "self", "min");
}

}  // namespace hone::op_clamp_min
