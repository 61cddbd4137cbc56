#include "graph/op.h"

namespace hone::op_ne {

HONE_OP(ne, "self != other") {
  call.Binary(OpCall::ResultType::kBool, [](Expr a, Expr b) {
    // As of eq.
    if (!SameExpr(a, b)) return Apply(BinaryOp::kNotEqual, a, b);
    return a->type == ScalarType::kReal ? Apply(UnaryOp::kIsNan, a) : Expr::Bool(false);
  });
}

}  // namespace hone::op_ne
