#include "graph/op.h"

namespace hone::op_full_like {

HONE_OP(full_like, "fill_value everywhere, of the shape of self") {
  const Operand x = call.Tensor("self");
  const Expr value = call.Scalar("fill_value");
  call.Output(x.shape(), call.Type("dtype", x.dtype()), [&](Indices) { return value; });
}

}  // namespace hone::op_full_like
