#include "graph/op.h"

namespace hone {

HONE_OP(clamp_max, "min(self, max)") {
  call.Binary(OpCall::ResultType::kSame, [](Expr a, Expr b) { return Min(a, b); }, "self", "max");
}

}  // namespace hone
