#include "graph/op.h"

namespace hone::op_zeros_like {

HONE_OP(zeros_like, "0 everywhere, of the shape of self") {
  const Operand x = call.Tensor("self");
  const Expr value = 0;
  call.Output(x.shape(), call.Type("dtype", x.dtype()), [&](Indices) { return value; });
}

}  // namespace hone::op_zeros_like
