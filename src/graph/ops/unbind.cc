#include "graph/op.h"

namespace hone::op_unbind {

HONE_OP(unbind, "the slices of self along dim") {
  const Operand x = call.Tensor("self");
  if (x.rank() == 0) return call.Fail("needs at least one dimension");
  const int dim = call.Dim("dim", x.rank(), 0);
  for (std::int64_t i = 0; i < x.dim(dim); ++i) {
    call.Output(OpCall::ReducedShape(x.shape(), {dim}, false), x.dtype(), [&](Indices at) {
      std::vector<Expr> full(at.begin(), at.end());
      full.insert(full.begin() + dim, Expr(i));
      return x(full);
    });
  }
}

}  // namespace hone::op_unbind
