#include "graph/op.h"

namespace hone::op_rrelu_with_noise_functional {

HONE_OP(rrelu_with_noise_functional, "self > 0 ? self : self times the middle of lower and upper; and noise as it is") {
  const double slope = (call.Real("lower", 1.0 / 8) + call.Real("upper", 1.0 / 3)) / 2;
  if (call.Bool("training", false)) return call.Fail("draws slopes in training: use it as in evaluation");
  call.Unary(OpCall::ResultType::kReal, [&](Expr x) { return Select(Less(0.0, x), x, Expr(slope) * x); });
  call.Output(call.Tensor("noise"));
}

}  // namespace hone::op_rrelu_with_noise_functional
