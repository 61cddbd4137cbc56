#include "graph/op.h"

namespace hone {

HONE_OP(bitwise_not, "each bit flipped; logical for truth values") {
  call.Unary(OpCall::ResultType::kSame, [](Expr x) { return Apply(UnaryOp::kNot, x); });
}

}  // namespace hone
