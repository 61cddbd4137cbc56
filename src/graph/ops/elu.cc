#include "graph/op.h"

namespace hone::op_elu {

HONE_OP(elu, "self > 0 ? scale * self : scale * alpha * (exp(input_scale * self) - 1)") {
  const double alpha = call.Real("alpha", 1), scale = call.Real("scale", 1), input_scale = call.Real("input_scale", 1);
  call.Unary(OpCall::ResultType::kReal, [&](Expr x) {
    const Expr inner = input_scale == 1 ? x : x * input_scale;
    const Expr low =
        alpha * scale == 1 ? Apply(UnaryOp::kExpm1, inner) : Expr(alpha * scale) * Apply(UnaryOp::kExpm1, inner);
    return Select(Less(0.0, x), scale == 1 ? x : x * scale, low);
  });
}

}  // namespace hone::op_elu
