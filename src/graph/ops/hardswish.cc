#include "graph/op.h"

namespace hone::op_hardswish {

HONE_OP(hardswish, "self * min(max(self + 3, 0), 6) / 6") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return x * Min(Max(x + 3.0, 0.0), 6.0) / 6.0; });
}

}  // namespace hone::op_hardswish
