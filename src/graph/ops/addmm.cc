#include "graph/op.h"
#include "graph/scaled_sum.h"

namespace hone::op_addmm {

HONE_OP(addmm, "beta * self + alpha * mat1 @ mat2; an alpha or beta of 0 leaves out what it would scale, NaN or not") {
  const Operand c = call.Tensor("self"), a = call.Tensor("mat1"), b = call.Tensor("mat2");
  const double alpha = call.Real("alpha", 1), beta = call.Real("beta", 1);
  if (a.rank() != 2 || b.rank() != 2 || a.dim(1) != b.dim(0)) call.Fail("needs matrices [m, k] and [k, n]");
  if (c.rank() > 2) call.Fail("self has to broadcast to the product");
  call.Output({a.dim(0), b.dim(1)}, call.Type("out_dtype", a.dtype()), [&](Indices at) {
    Expr product = Fold(ReduceOp::kSum, std::vector<std::int64_t>{a.dim(1)},
                        [&](Indices k) { return a({at[0], k[0]}) * b({k[0], at[1]}); });
    const ScalarType type = ScalarTypeOf(a.dtype());
    if (alpha == 0) product = Cast(0, type);
    return ScaledSum(product, alpha == 0 ? 1 : alpha, c.Broadcast(at), beta, type);
  });
}

}  // namespace hone::op_addmm
