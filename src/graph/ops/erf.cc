#include "graph/op.h"

namespace hone::op_erf {

HONE_OP(erf, "error function") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kErf, x); });
}

}  // namespace hone::op_erf
