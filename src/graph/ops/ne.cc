#include "graph/op.h"

namespace hone::op_ne {

HONE_OP(ne, "self != other") {
  call.Binary(OpCall::ResultType::kBool, [](Expr a, Expr b) { return Apply(BinaryOp::kNotEqual, a, b); });
}

}  // namespace hone::op_ne
