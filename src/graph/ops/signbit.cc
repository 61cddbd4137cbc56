#include "graph/op.h"

namespace hone::op_signbit {

HONE_OP(signbit, "whether self is negative, minus zero too") {
  call.Unary(OpCall::ResultType::kBool, [](Expr x) {
    const Expr real = Cast(x, ScalarType::kReal);
    return Less(Select(Equal(real, 0.0), Expr(1.0) / real, real), 0.0);
  });
}

}  // namespace hone::op_signbit
