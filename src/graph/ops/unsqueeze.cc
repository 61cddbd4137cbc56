#include "graph/op.h"

namespace hone::op_unsqueeze {

HONE_OP(unsqueeze, "a dimension of extent 1 inserted at dim") {
  const Operand x = call.Tensor("self");
  Shape shape = x.shape();
  shape.insert(shape.begin() + call.WrapDim(call.Int("dim"), x.rank() + 1), 1);
  call.Output(call.Reshape(x, shape));
}

}  // namespace hone::op_unsqueeze
