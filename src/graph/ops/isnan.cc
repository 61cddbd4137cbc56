#include "graph/op.h"

namespace hone::op_isnan {

HONE_OP(isnan, "true where self is not a number") {
  call.Unary(OpCall::ResultType::kBool, [](Expr x) { return Apply(UnaryOp::kIsNan, x); });
}

}  // namespace hone::op_isnan
