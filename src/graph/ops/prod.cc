#include "graph/op.h"

namespace hone::op_prod {

HONE_OP(prod, "product over dim (all dimensions when absent)") {
  const Operand x = call.Tensor("self");
  const DType dtype = call.Type("dtype", IsFloat(x.dtype()) ? x.dtype() : DType::kI64);
  call.Reduction(ReduceOp::kProd, dtype, x, call.Dims("dim", x.rank()), call.Bool("keepdim", false),
                 [&](Indices at) { return Cast(x(at), ScalarTypeOf(dtype)); });
}

}  // namespace hone::op_prod
