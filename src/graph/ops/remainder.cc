#include "graph/op.h"

namespace hone {

HONE_OP(remainder, "remainder with the sign of other") {
  call.Binary(OpCall::ResultType::kSame, [](Expr a, Expr b) { return Apply(BinaryOp::kFloorMod, a, b); });
}

}  // namespace hone
