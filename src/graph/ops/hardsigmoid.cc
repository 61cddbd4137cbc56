#include "graph/op.h"

namespace hone::op_hardsigmoid {

HONE_OP(hardsigmoid, "min(max(self + 3, 0), 6) / 6") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Min(Max(x + 3.0, 0.0), 6.0) / 6.0; });
}

}  // namespace hone::op_hardsigmoid
