#include "graph/op.h"

namespace hone::op_square {

HONE_OP(square, "self * self") {
  const Operand x = call.Tensor("self");
  const DType dtype = x.dtype() == DType::kBool ? DType::kI64 : x.dtype();
  call.Elementwise(dtype, {x}, [&](auto v) {
    const Expr value = Cast(v[0], ScalarTypeOf(dtype));
    return value * value;
  });
}

}  // namespace hone::op_square
