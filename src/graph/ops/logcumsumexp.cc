#include <limits>

#include "graph/op.h"

namespace hone::op_logcumsumexp {

HONE_OP(logcumsumexp, "log of the sum of exp(self) from the first element to this one along dim, never overflowing") {
  const Operand x = call.Tensor("self");
  const int dim = call.Dim("dim", x.rank());
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  call.Output(call.Scan("sum", x.shape(), x.dtype(), dim, -kInfinity, [&](Indices at, const Expr& before) {
    const Expr now = x(at), most = Max(before, now), least = Min(before, now);
    // inf - inf has to stay out of the exponent.
    const Expr same = And(Equal(most, least), Equal(Abs(most), kInfinity));
    return Select(same, now, most + Apply(UnaryOp::kLog1p, Exp(least - most)));
  }));
}

}  // namespace hone::op_logcumsumexp
