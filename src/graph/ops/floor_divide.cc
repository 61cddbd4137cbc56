#include "graph/op.h"

namespace hone {

HONE_OP(floor_divide, "floor(self / other)") {
  call.Binary(OpCall::ResultType::kSame, [](Expr a, Expr b) { return Apply(BinaryOp::kFloorDiv, a, b); });
}

}  // namespace hone
