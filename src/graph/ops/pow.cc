#include "graph/op.h"

namespace hone {

HONE_OP(pow, "self to the power exponent; a small whole exponent is repeated multiplication") {
  // Squares and cubes are what nearly every use is, and every library computes them as products.
  if (call.Has("exponent") && !call.IsTensor("exponent")) {
    const double exponent = call.Real("exponent");
    if (exponent == 2 || exponent == 3) {
      return call.Unary(OpCall::ResultType::kSame, [&](Expr x) { return exponent == 2 ? x * x : x * x * x; });
    }
    if (exponent == 0.5) return call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Sqrt(x); });
  }
  call.Binary(
      OpCall::ResultType::kSame, [](Expr a, Expr b) { return Cast(Apply(BinaryOp::kPow, a, b), a->type); }, "self",
      "exponent");
}

}  // namespace hone
