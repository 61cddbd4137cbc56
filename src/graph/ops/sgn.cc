#include "graph/op.h"

namespace hone {

HONE_OP(sgn, "-1, 0 or 1") {
  call.Unary(OpCall::ResultType::kSame, [](Expr x) -> Expr { return Apply(UnaryOp::kSign, x); });
}

}  // namespace hone
