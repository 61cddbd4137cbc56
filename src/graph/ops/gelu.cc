#include "graph/op.h"

namespace hone::op_gelu {

HONE_OP(gelu, "self * P(N(0, 1) < self); approximate tanh uses the tanh form") {
  const std::string form = call.String("approximate", "none");
  if (form != "none" && form != "tanh") call.Fail("approximate has to be none or tanh");
  call.Unary(OpCall::ResultType::kReal, [&](Expr x) {
    if (form == "tanh")
      return Expr(0.5) * x * (Expr(1.0) + Tanh(Expr(0.79788456080286535588) * (x + Expr(0.044715) * x * x * x)));
    return Expr(0.5) * x * (Expr(1.0) + Apply(UnaryOp::kErf, x * 0.70710678118654752440));
  });
}

}  // namespace hone::op_gelu
