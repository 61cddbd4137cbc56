#include "graph/op.h"

namespace hone::op_logit {

HONE_OP(logit, "log(self / (1 - self)), self no nearer than eps to 0 and 1") {
  const std::optional<double> eps = call.Has("eps") ? std::optional(call.Real("eps")) : std::nullopt;
  call.Unary(OpCall::ResultType::kReal, [&](Expr x) {
    if (eps) x = Select(Less(x, *eps), *eps, Select(Less(1 - *eps, x), 1 - *eps, x));
    return Log(x / (Expr(1.0) - x));
  });
}

}  // namespace hone::op_logit
