#include "graph/op.h"

namespace hone::op_threshold {

HONE_OP(threshold, "self > threshold ? self : value") {
  const DType dtype = call.Tensor("self").dtype();
  const Expr limit = Held(call.Scalar("threshold"), dtype), value = Held(call.Scalar("value"), dtype);
  call.Unary(OpCall::ResultType::kSame, [&](Expr x) { return Select(LessEqual(x, limit), value, x); });
}

}  // namespace hone::op_threshold
