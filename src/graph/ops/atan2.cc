#include "graph/op.h"

namespace hone::op_atan2 {

HONE_OP(atan2, "angle of the point (other, self)") {
  call.Binary(OpCall::ResultType::kReal, [](Expr a, Expr b) { return Apply(BinaryOp::kAtan2, a, b); });
}

}  // namespace hone::op_atan2
