#include "graph/op.h"

namespace hone::op_nansum {

HONE_OP(nansum, "sum over dim, a NaN counting as 0") {
  const Operand x = call.Tensor("self");
  const DType dtype = call.Type("dtype", IsFloat(x.dtype()) ? x.dtype() : DType::kI64);
  call.Reduction(ReduceOp::kSum, dtype, x, call.Dims("dim", x.rank()), call.Bool("keepdim", false), [&](Indices at) {
    const Expr value = Cast(x(at), ScalarTypeOf(dtype));
    return value->type == ScalarType::kReal ? Select(Apply(UnaryOp::kIsNan, value), 0.0, value) : value;
  });
}

}  // namespace hone::op_nansum
