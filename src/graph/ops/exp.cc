#include "graph/op.h"

namespace hone::op_exp {

HONE_OP(exp, "e to the power self") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Apply(UnaryOp::kExp, x); });
}

}  // namespace hone::op_exp
