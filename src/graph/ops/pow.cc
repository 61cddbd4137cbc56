#include "graph/op.h"

namespace hone::op_pow {

HONE_OP(pow, "self to the power exponent; a small whole exponent is repeated multiplication") {
  // Squares and cubes are what nearly every use is, and every library computes them as products.
  if (call.Has("exponent") && !call.IsTensor("exponent")) {
    const double exponent = call.Real("exponent");
    if (exponent == 2 || exponent == 3) {
      const DType dtype = call.CommonType({"self", "exponent"});  // 2.0 makes a real of a whole number
      return call.Elementwise(dtype, {call.Tensor("self")}, [&](auto v) {
        const Expr x = Cast(v[0], ScalarTypeOf(dtype));
        return exponent == 2 ? x * x : x * x * x;
      });
    }
    if (exponent == 0.5) return call.Unary(OpCall::ResultType::kReal, [](Expr x) { return Sqrt(x); });
  }
  call.Binary(
      OpCall::ResultType::kSame,
      [](Expr a, Expr b) {
        const Expr power = Cast(Apply(BinaryOp::kPow, a, b), a->type);
        if (a->type != ScalarType::kInt) return power;
        // One over a whole number: only of 1 and -1 is anything left.
        const Expr odd = Equal(Apply(BinaryOp::kFloorMod, b, 2), 1);
        const Expr inverse = Select(Equal(a, 1), 1, Select(Equal(a, -1), Select(odd, -1, 1), 0));
        return Select(Less(b, 0), inverse, power);
      },
      "self", "exponent");
}

}  // namespace hone::op_pow
