#include "graph/op.h"

namespace hone::op_new_zeros {

HONE_OP(new_zeros, "0 everywhere, of the shape size and the type of self") {
  const Operand x = call.Tensor("self");
  const DType dtype = call.Type("dtype", x.dtype());
  const Expr value = Cast(Expr(0), ScalarTypeOf(dtype));
  call.Output(call.Ints("size"), dtype, [&](Indices) { return value; });
}

}  // namespace hone::op_new_zeros
