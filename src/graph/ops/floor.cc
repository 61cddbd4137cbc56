#include "graph/op.h"

namespace hone {

HONE_OP(floor, "largest whole number not above self") {
  call.Unary(OpCall::ResultType::kSame, [](Expr x) { return Apply(UnaryOp::kFloor, x); });
}

}  // namespace hone
