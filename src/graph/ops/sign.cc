#include "graph/op.h"

namespace hone::op_sign {

HONE_OP(sign, "-1, 0 or 1") {
  call.Unary(OpCall::ResultType::kSame, [](Expr x) { return Apply(UnaryOp::kSign, x); });
}

}  // namespace hone::op_sign
