#include "graph/op.h"

namespace hone::op_logical_or {

HONE_OP(logical_or, "logical or of self and other being nonzero") {
  call.Binary(OpCall::ResultType::kBool, [](Expr a, Expr b) {
    return Apply(BinaryOp::kOr, Cast(a, ScalarType::kBool), Cast(b, ScalarType::kBool));
  });
}

}  // namespace hone::op_logical_or
