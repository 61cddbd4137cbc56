#include "graph/op.h"

namespace hone::op_mm {

HONE_OP(mm, "matrix product: sum over k of self[i, k] * mat2[k, j]") {
  const Operand a = call.Tensor("self"), b = call.Tensor("mat2");
  if (a.rank() != 2 || b.rank() != 2 || a.dim(1) != b.dim(0)) call.Fail("needs matrices [m, k] and [k, n]");
  call.Output({a.dim(0), b.dim(1)}, call.Type("out_dtype", a.dtype()), [&](Indices at) {
    return Fold(ReduceOp::kSum, std::vector<std::int64_t>{a.dim(1)},
                [&](Indices k) { return a({at[0], k[0]}) * b({k[0], at[1]}); });
  });
}

}  // namespace hone::op_mm
