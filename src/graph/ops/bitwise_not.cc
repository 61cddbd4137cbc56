#include "graph/op.h"

namespace hone::op_bitwise_not {

HONE_OP(bitwise_not, "each bit flipped; logical for truth values") {
  call.Unary(OpCall::ResultType::kWhole, [](Expr x) { return Apply(UnaryOp::kNot, x); });
}

}  // namespace hone::op_bitwise_not
