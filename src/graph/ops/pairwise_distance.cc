#include "graph/loss.h"

namespace hone::op_pairwise_distance {

HONE_OP(pairwise_distance, "|x1 - x2 + eps|_p over the last dimension") {
  const Operand distance =
      PairDistance(call, call.Tensor("x1"), call.Tensor("x2"), call.Real("p", 2), call.Real("eps", 1e-6));
  if (!call.Bool("keepdim", false)) return call.Output(distance);
  Shape shape = distance.shape();
  shape.push_back(1);
  call.Output(call.Reshape(distance, shape));
}

}  // namespace hone::op_pairwise_distance
