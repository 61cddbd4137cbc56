#include "graph/op.h"

namespace hone::op_floor_divide {

HONE_OP(floor_divide, "floor(self / other)") {
  call.Binary(OpCall::ResultType::kSame, [](Expr a, Expr b) { return Apply(BinaryOp::kFloorDiv, a, b); });
}

}  // namespace hone::op_floor_divide
