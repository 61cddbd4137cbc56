#include "graph/op.h"

namespace hone::op_sgn {

HONE_OP(sgn, "-1, 0 or 1") {
  call.Unary(OpCall::ResultType::kSame, [](Expr x) -> Expr { return Apply(UnaryOp::kSign, x); });
}

}  // namespace hone::op_sgn
