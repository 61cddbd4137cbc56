#include "graph/op.h"

namespace hone::op_remainder {

HONE_OP(remainder, "remainder with the sign of other") {
  call.Binary(OpCall::ResultType::kSame, [](Expr a, Expr b) { return Apply(BinaryOp::kFloorMod, a, b); });
}

}  // namespace hone::op_remainder
