#include "graph/op.h"
#include "graph/scaled_sum.h"

namespace hone::op_addbmm {

HONE_OP(addbmm, "beta * self + alpha * the sum over all batches of batch1 @ batch2") {
  const Operand c = call.Tensor("self"), a = call.Tensor("batch1"), b = call.Tensor("batch2");
  const double alpha = call.Real("alpha", 1), beta = call.Real("beta", 1);
  if (a.rank() != 3 || b.rank() != 3 || a.dim(0) != b.dim(0) || a.dim(2) != b.dim(1))
    call.Fail("needs batches of matrices [n, m, k] and [n, k, p]");
  if (c.rank() > 2) call.Fail("self has to broadcast to the product");
  call.Output({a.dim(1), b.dim(2)}, a.dtype(), [&](Indices at) {
    const Expr product = Fold(ReduceOp::kSum, std::vector<std::int64_t>{a.dim(0), a.dim(2)},
                              [&](Indices k) { return a({k[0], at[0], k[1]}) * b({k[0], k[1], at[1]}); });
    return ScaledSum(product, alpha, c.Broadcast(at), beta, ScalarTypeOf(a.dtype()));
  });
}

}  // namespace hone::op_addbmm
