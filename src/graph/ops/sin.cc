#include "graph/op.h"

namespace hone {

HONE_OP(sin, "sine") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kSin, x); });
}

}  // namespace hone
