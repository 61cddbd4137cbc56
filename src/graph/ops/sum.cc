#include "graph/op.h"

namespace hone::op_sum {

HONE_OP(sum, "sum over dim (all dimensions when absent)") {
  const Operand x = call.Tensor("self");
  const DType dtype = call.Type("dtype", IsFloat(x.dtype()) ? x.dtype() : DType::kI64);
  call.Reduction(ReduceOp::kSum, dtype, x, call.Dims("dim", x.rank()), call.Bool("keepdim", false),
                 [&](Indices at) { return Cast(x(at), ScalarTypeOf(dtype)); });
}

}  // namespace hone::op_sum
