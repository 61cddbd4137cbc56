#include "graph/op.h"

namespace hone {

HONE_OP(bitwise_and, "bitwise and; logical for truth values") {
  call.Binary(OpCall::ResultType::kWhole, [](Expr a, Expr b) { return Apply(BinaryOp::kAnd, a, b); });
}

}  // namespace hone
