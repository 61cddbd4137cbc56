#include "graph/op.h"

namespace hone::op_neg {

HONE_OP(neg, "-self") {
  call.Unary(OpCall::ResultType::kSame, [](Expr x) { return Apply(UnaryOp::kNeg, x); });
}

}  // namespace hone::op_neg
