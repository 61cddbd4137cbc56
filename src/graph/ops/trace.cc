#include <algorithm>

#include "graph/op.h"

namespace hone::op_trace {

HONE_OP(trace, "sum of the diagonal of a matrix") {
  const Operand x = call.Tensor("self");
  if (x.rank() != 2) return call.Fail("needs a matrix");
  const DType dtype = IsFloat(x.dtype()) ? x.dtype() : DType::kI64;
  call.Output({}, dtype, [&](Indices) {
    return Fold(ReduceOp::kSum, std::vector<std::int64_t>{std::min(x.dim(0), x.dim(1))},
                [&](Indices k) { return Cast(x({k[0], k[0]}), ScalarTypeOf(dtype)); });
  });
}

}  // namespace hone::op_trace
