#include "graph/op.h"

namespace hone {

HONE_OP(threshold, "self > threshold ? self : value") {
  const Expr limit = call.Scalar("threshold"), value = call.Scalar("value");
  call.Unary(OpCall::ResultType::kSame, [&](Expr x) { return Select(LessEqual(x, limit), Cast(value, x->type), x); });
}

}  // namespace hone
