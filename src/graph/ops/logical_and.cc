#include "graph/op.h"

namespace hone::op_logical_and {

HONE_OP(logical_and, "logical and of self and other being nonzero") {
  call.Binary(OpCall::ResultType::kBool, [](Expr a, Expr b) {
    return Apply(BinaryOp::kAnd, Cast(a, ScalarType::kBool), Cast(b, ScalarType::kBool));
  });
}

}  // namespace hone::op_logical_and
