#include <limits>

#include "graph/op.h"

namespace hone::op_hypot {

HONE_OP(hypot, "length of the vector (self, other)") {
  call.Binary(OpCall::ResultType::kReal, [](Expr a, Expr b) -> Expr {
    const Expr infinity(std::numeric_limits<double>::infinity());
    // Infinite in one direction is infinite, also where the other is not known.
    const Expr far = Apply(BinaryOp::kOr, Equal(Abs(a), infinity), Equal(Abs(b), infinity));
    return Select(far, infinity, Sqrt(a * a + b * b));
  });
}

}  // namespace hone::op_hypot
