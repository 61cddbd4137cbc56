#include "graph/op.h"

namespace hone::op_glu {

HONE_OP(glu, "first half * sigmoid(second half) along dim") {
  const Operand x = call.Tensor("self");
  const int dim = call.Dim("dim", x.rank(), -1);
  if (x.rank() == 0 || x.dim(dim) % 2 != 0) return call.Fail("the extent along dim has to be even");
  Shape shape = x.shape();
  const std::int64_t half = shape[static_cast<std::size_t>(dim)] /= 2;
  call.Output(shape, RealType(x.dtype()), [&](Indices at) {
    std::vector<Expr> second(at.begin(), at.end());
    second[static_cast<std::size_t>(dim)] = at[static_cast<std::size_t>(dim)] + half;
    return x(at) * Sigmoid(x(second));
  });
}

}  // namespace hone::op_glu
