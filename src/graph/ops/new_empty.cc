#include "graph/op.h"

namespace hone::op_new_empty {

HONE_OP(new_empty, "0 everywhere: what PyTorch leaves undefined") {
  const Operand x = call.Tensor("self");
  const DType dtype = call.Type("dtype", x.dtype());
  call.Output(call.Ints("size"), dtype, [&](Indices) { return Cast(0, ScalarTypeOf(dtype)); });
}

}  // namespace hone::op_new_empty
