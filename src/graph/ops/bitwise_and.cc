#include "graph/op.h"

namespace hone::op_bitwise_and {

HONE_OP(bitwise_and, "bitwise and; logical for truth values") {
  call.Binary(OpCall::ResultType::kWhole, [](Expr a, Expr b) { return Apply(BinaryOp::kAnd, a, b); });
}

}  // namespace hone::op_bitwise_and
