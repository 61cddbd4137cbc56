#include "graph/op.h"

namespace hone {

HONE_OP(reciprocal, "1 / self") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kReciprocal, x); });
}

}  // namespace hone
