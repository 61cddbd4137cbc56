#include "graph/op.h"

namespace hone::op_hardshrink {

HONE_OP(hardshrink, "self where |self| > lambd, else 0") {
  const Expr limit = call.Scalar("lambd", 0.5);
  call.Unary(OpCall::ResultType::kSame,
             [&](Expr x) { return Select(LessEqual(Abs(x), limit), Cast(0.0, x->type), x); });
}

}  // namespace hone::op_hardshrink
