#include "graph/op.h"

namespace hone::op_ldexp {

HONE_OP(ldexp, "self * 2^other") {
  call.Binary(OpCall::ResultType::kReal,
              [](Expr x, Expr power) { return x * Apply(BinaryOp::kPow, Expr(2.0), power); });
}

}  // namespace hone::op_ldexp
