#include "graph/op.h"

namespace hone {

HONE_OP(sinh, "hyperbolic sine") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kSinh, x); });
}

}  // namespace hone
