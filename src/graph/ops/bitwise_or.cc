#include "graph/op.h"

namespace hone::op_bitwise_or {

HONE_OP(bitwise_or, "bitwise or; logical for truth values") {
  call.Binary(OpCall::ResultType::kWhole, [](Expr a, Expr b) { return Apply(BinaryOp::kOr, a, b); });
}

}  // namespace hone::op_bitwise_or
