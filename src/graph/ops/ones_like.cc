#include "graph/op.h"

namespace hone::op_ones_like {

HONE_OP(ones_like, "1 everywhere, of the shape of self") {
  const Operand x = call.Tensor("self");
  const Expr value = 1;
  call.Output(x.shape(), call.Type("dtype", x.dtype()), [&](Indices) { return value; });
}

}  // namespace hone::op_ones_like
