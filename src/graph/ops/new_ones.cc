#include "graph/op.h"

namespace hone::op_new_ones {

HONE_OP(new_ones, "1 everywhere, of the shape size and the type of self") {
  const Operand x = call.Tensor("self");
  const DType dtype = call.Type("dtype", x.dtype());
  const Expr value = Cast(Expr(1), ScalarTypeOf(dtype));
  call.Output(call.Ints("size"), dtype, [&](Indices) { return value; });
}

}  // namespace hone::op_new_ones
