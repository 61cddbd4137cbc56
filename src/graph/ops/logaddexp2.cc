#include <cmath>
#include <limits>

#include "graph/op.h"

namespace hone::op_logaddexp2 {

HONE_OP(logaddexp2, "log2(2^self + 2^other), never overflowing") {
  call.Binary(OpCall::ResultType::kReal, [](Expr a, Expr b) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const Expr most = Max(a, b), least = Min(a, b);
    const Expr rise = Apply(UnaryOp::kLog1p, Exp((least - most) * M_LN2)) * M_LOG2E;
    return Select(And(Equal(most, least), Equal(Abs(most), kInfinity)), a, most + rise);
  });
}

}  // namespace hone::op_logaddexp2
