#include "graph/op.h"

namespace hone::op_logical_not {

HONE_OP(logical_not, "true where self is zero") {
  call.Unary(OpCall::ResultType::kBool, [](Expr x) { return Apply(UnaryOp::kNot, Cast(x, ScalarType::kBool)); });
}

}  // namespace hone::op_logical_not
