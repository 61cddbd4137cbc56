#include "graph/op.h"

namespace hone::op_floor {

HONE_OP(floor, "largest whole number not above self") {
  call.Unary(OpCall::ResultType::kSame, [](Expr x) { return Apply(UnaryOp::kFloor, x); });
}

}  // namespace hone::op_floor
