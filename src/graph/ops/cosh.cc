#include "graph/op.h"

namespace hone::op_cosh {

HONE_OP(cosh, "hyperbolic cosine") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kCosh, x); });
}

}  // namespace hone::op_cosh
