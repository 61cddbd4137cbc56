#include <cmath>
#include <cstdlib>

#include "graph/op.h"

namespace hone::op_round {

HONE_OP(round, "nearest whole number, halves to even; or the nearest multiple of 10^-decimals") {
  const std::int64_t decimals = call.Int("decimals", 0);
  const Expr power = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  call.Unary(OpCall::ResultType::kSame, [&](Expr x) {
    if (decimals == 0 || x->type != ScalarType::kReal) return Apply(UnaryOp::kRound, x);
    return decimals > 0 ? Apply(UnaryOp::kRound, x * power) / power : Apply(UnaryOp::kRound, x / power) * power;
  });
}

}  // namespace hone::op_round
