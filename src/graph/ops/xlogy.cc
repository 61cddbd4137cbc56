#include "graph/op.h"

namespace hone::op_xlogy {

HONE_OP(xlogy, "self * log(other), 0 where self is 0; a NaN in other stays") {
  call.Binary(OpCall::ResultType::kReal, [](Expr a, Expr b) -> Expr {
    return Select(Apply(UnaryOp::kIsNan, b), b, Select(Equal(a, 0.0), 0.0, a * Log(b)));
  });
}

}  // namespace hone::op_xlogy
