#include <cmath>

#include "graph/op.h"

namespace hone::op_sinc {

HONE_OP(sinc, "sin(pi self) / (pi self), 1 at 0") {
  call.Unary(OpCall::ResultType::kReal, [](Expr x) {
    const Expr turned = x * M_PI;
    return Select(Equal(x, 0.0), 1.0, Apply(UnaryOp::kSin, turned) / turned);
  });
}

}  // namespace hone::op_sinc
