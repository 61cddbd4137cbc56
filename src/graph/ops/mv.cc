#include "graph/op.h"

namespace hone::op_mv {

HONE_OP(mv, "matrix times vector") {
  const Operand a = call.Tensor("self"), x = call.Tensor("vec");
  if (a.rank() != 2 || x.rank() != 1 || a.dim(1) != x.dim(0)) call.Fail("needs a matrix [m, k] and a vector [k]");
  call.Output({a.dim(0)}, a.dtype(), [&](Indices at) {
    return Fold(ReduceOp::kSum, std::vector<std::int64_t>{a.dim(1)},
                [&](Indices k) { return a({at[0], k[0]}) * x({k[0]}); });
  });
}

}  // namespace hone::op_mv
