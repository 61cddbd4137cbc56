#include "graph/op.h"

namespace hone::op_abs {

HONE_OP(abs, "absolute value") {
  call.Unary(OpCall::ResultType::kSame, [](Expr x) { return Apply(UnaryOp::kAbs, x); });
}

}  // namespace hone::op_abs
