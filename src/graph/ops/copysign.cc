#include "graph/op.h"

namespace hone::op_copysign {

HONE_OP(copysign, "|self| with the sign of other") {
  call.Binary(OpCall::ResultType::kReal, [](Expr x, Expr sign) {
    const Expr size = Abs(x);
    return Select(Less(Select(Equal(sign, 0.0), Expr(1.0) / sign, sign), 0.0), -size, size);
  });
}

}  // namespace hone::op_copysign
