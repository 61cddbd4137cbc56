#include "graph/op.h"

namespace hone {

HONE_OP(bitwise_not, "each bit flipped; logical for truth values") {
  call.Unary(OpCall::ResultType::kWhole, [](Expr x) { return Apply(UnaryOp::kNot, x); });
}

}  // namespace hone
