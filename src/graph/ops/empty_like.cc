#include "graph/op.h"

namespace hone::op_empty_like {

HONE_OP(empty_like, "0 everywhere: what PyTorch leaves undefined") {
  const Operand x = call.Tensor("self");
  const DType dtype = call.Type("dtype", x.dtype());
  call.Output(x.shape(), dtype, [&](Indices) { return Cast(0, ScalarTypeOf(dtype)); });
}

}  // namespace hone::op_empty_like
