#include "graph/op.h"

namespace hone::op_bmm {

HONE_OP(bmm, "batched matrix product: sum over k of self[n, i, k] * mat2[n, k, j]") {
  const Operand a = call.Tensor("self"), b = call.Tensor("mat2");
  if (a.rank() != 3 || b.rank() != 3 || a.dim(0) != b.dim(0) || a.dim(2) != b.dim(1))
    call.Fail("needs batches of matrices [n, m, k] and [n, k, p]");
  call.Output({a.dim(0), a.dim(1), b.dim(2)}, call.Type("out_dtype", a.dtype()), [&](Indices at) {
    return Fold(ReduceOp::kSum, std::vector<std::int64_t>{a.dim(2)},
                [&](Indices k) { return a({at[0], at[1], k[0]}) * b({at[0], k[0], at[2]}); });
  });
}

}  // namespace hone::op_bmm
