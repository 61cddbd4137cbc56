#include "graph/op.h"

namespace hone::op_frac {

HONE_OP(frac, "self without its whole part") {
  call.Unary(OpCall::ResultType::kSame, [](Expr x) -> Expr { return x - Apply(UnaryOp::kTrunc, x); });
}

}  // namespace hone::op_frac
