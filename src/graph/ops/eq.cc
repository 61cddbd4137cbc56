#include "graph/op.h"

namespace hone::op_eq {

HONE_OP(eq, "self == other") {
  call.Binary(OpCall::ResultType::kBool, [](Expr a, Expr b) {
    // Only a NaN is not what it is itself: that does not hang on how it was rounded.
    if (!SameExpr(a, b)) return Equal(a, b);
    return a->type == ScalarType::kReal ? Apply(UnaryOp::kNot, Apply(UnaryOp::kIsNan, a)) : Expr::Bool(true);
  });
}

}  // namespace hone::op_eq
