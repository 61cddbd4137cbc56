#include "graph/op.h"

namespace hone::op_relu6 {

HONE_OP(relu6, "min(max(self, 0), 6)") {
  call.Unary(OpCall::ResultType::kSame, [](Expr x) { return Min(Max(x, 0.0), 6.0); });
}

}  // namespace hone::op_relu6
