#include "graph/op.h"

namespace hone {

HONE_OP(erf, "error function") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kErf, x); });
}

}  // namespace hone
