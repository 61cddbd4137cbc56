#include "graph/op.h"

namespace hone::op_exp2 {

HONE_OP(exp2, "2 to the power self") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) -> Expr { return Apply(BinaryOp::kPow, 2.0, x); });
}

}  // namespace hone::op_exp2
