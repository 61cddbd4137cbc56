#include "graph/op.h"

namespace hone::op_new_full {

HONE_OP(new_full, "fill_value everywhere, of the shape size and the type of self") {
  const Operand x = call.Tensor("self");
  const DType dtype = call.Type("dtype", x.dtype());
  const Expr value = Cast(call.Scalar("fill_value"), ScalarTypeOf(dtype));
  call.Output(call.Ints("size"), dtype, [&](Indices) { return value; });
}

}  // namespace hone::op_new_full
