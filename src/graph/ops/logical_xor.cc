#include "graph/op.h"

namespace hone::op_logical_xor {

HONE_OP(logical_xor, "logical xor of self and other being nonzero") {
  call.Binary(OpCall::ResultType::kBool, [](Expr a, Expr b) {
    return Apply(BinaryOp::kXor, Cast(a, ScalarType::kBool), Cast(b, ScalarType::kBool));
  });
}

}  // namespace hone::op_logical_xor
