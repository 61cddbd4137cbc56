#include "graph/op.h"

namespace hone {

HONE_OP(cos, "cosine") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kCos, x); });
}

}  // namespace hone
