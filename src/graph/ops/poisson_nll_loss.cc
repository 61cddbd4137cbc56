#include <cmath>

#include "graph/loss.h"

namespace hone::op_poisson_nll_loss {

HONE_OP(
    poisson_nll_loss,
    "exp(input) - target input, or input - target log(input + eps) unless log_input; with Stirling's terms if full") {
  const Operand x = call.Tensor("input"), target = call.Tensor("target");
  const bool log_input = call.Bool("log_input"), full = call.Bool("full");
  const double eps = call.Real("eps");
  OutputLoss(call, call.BroadcastShape({x, target}), call.CommonType({"input", "target"}), [&](Indices at) {
    const Expr v = Cast(x.Broadcast(at), ScalarType::kReal), t = Cast(target.Broadcast(at), ScalarType::kReal);
    Expr loss = log_input ? Exp(v) - t * v : v - t * Log(v + eps);
    if (full) loss = loss + Select(LessEqual(t, 1.0), 0.0, t * Log(t) - t + Expr(0.5) * Log(Expr(2 * M_PI) * t));
    return loss;
  });
}

}  // namespace hone::op_poisson_nll_loss
