#include "graph/op.h"

namespace hone::op_logaddexp {

HONE_OP(logaddexp, "log(exp(self) + exp(other))") {
  call.Binary(OpCall::ResultType::kReal, [](Expr a, Expr b) -> Expr {
    return Select(Equal(a, b), a + 0.69314718055994530942, Max(a, b) + Apply(UnaryOp::kLog1p, Exp(-Abs(a - b))));
  });
}

}  // namespace hone::op_logaddexp
