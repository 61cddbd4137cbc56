#include "graph/loss.h"

namespace hone::op_dist {

HONE_OP(dist, "(sum of |self - other|^p)^(1/p)") {
  const Operand a = call.Tensor("self"), b = call.Tensor("other");
  const double p = call.Real("p", 2);
  const Shape shape = call.BroadcastShape({a, b});
  call.Output({}, call.CommonType({"self", "other"}), [&](Indices) {
    return LengthOf(p, shape, [&](Indices at) { return Abs(a.Broadcast(at) - b.Broadcast(at)); });
  });
}

}  // namespace hone::op_dist
