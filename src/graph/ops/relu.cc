#include "graph/op.h"

namespace hone::op_relu {

HONE_OP(relu, "max(self, 0); a NaN stays a NaN") {
  const Operand x = call.Tensor("self");
  call.Elementwise(x.dtype(), {x}, [](auto v) { return Max(v[0], 0.0); });
}

}  // namespace hone::op_relu
