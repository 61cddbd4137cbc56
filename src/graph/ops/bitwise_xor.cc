#include "graph/op.h"

namespace hone::op_bitwise_xor {

HONE_OP(bitwise_xor, "bitwise xor; logical for truth values") {
  call.Binary(OpCall::ResultType::kWhole, [](Expr a, Expr b) { return Apply(BinaryOp::kXor, a, b); });
}

}  // namespace hone::op_bitwise_xor
