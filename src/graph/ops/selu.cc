#include "graph/op.h"

namespace hone::op_selu {

HONE_OP(selu, "1.0507 * (self > 0 ? self : 1.6733 * (exp(self) - 1))") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) {
    return Expr(1.0507009873554804934193349852946) *
           Select(Less(0.0, x), x, Expr(1.6732632423543772848170429916717) * Apply(UnaryOp::kExpm1, x));
  });
}

}  // namespace hone::op_selu
