#include "graph/op.h"

namespace hone::op_dot {

HONE_OP(dot, "sum of the products of two vectors") {
  const Operand a = call.Tensor("self"), b = call.Tensor("tensor");
  if (a.rank() != 1 || b.rank() != 1 || a.dim(0) != b.dim(0)) call.Fail("needs two vectors of one length");
  call.Output({}, a.dtype(), [&](Indices) {
    return Fold(ReduceOp::kSum, std::vector<std::int64_t>{a.dim(0)}, [&](Indices k) { return a({k[0]}) * b({k[0]}); });
  });
}

}  // namespace hone::op_dot
