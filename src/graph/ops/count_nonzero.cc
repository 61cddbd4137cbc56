#include "graph/op.h"

namespace hone::op_count_nonzero {

HONE_OP(count_nonzero, "number of elements over dim that are not zero") {
  const Operand x = call.Tensor("self");
  call.Reduction(ReduceOp::kSum, DType::kI64, x, call.Dims("dim", x.rank()), false,
                 [&](Indices at) { return Cast(Cast(x(at), ScalarType::kBool), ScalarType::kInt); });
}

}  // namespace hone::op_count_nonzero
