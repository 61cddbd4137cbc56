#include "graph/op.h"

namespace hone::op_softplus {

HONE_OP(softplus, "log(1 + exp(beta * self)) / beta; self itself where beta * self > threshold") {
  const double beta = call.Real("beta", 1), threshold = call.Real("threshold", 20);
  call.Unary(OpCall::ResultType::kReal, [&](Expr x) {
    const Expr scaled = beta == 1 ? x : x * beta;
    const Expr soft = beta == 1 ? Softplus(scaled) : Softplus(scaled) / beta;
    return Select(Less(threshold, scaled), x, soft);
  });
}

}  // namespace hone::op_softplus
