#include "graph/op.h"

namespace hone::op_select {

HONE_OP(select, "self at index along dim") {
  const Operand x = call.Tensor("self");
  if (x.rank() == 0) return call.Fail("needs at least one dimension");
  const int dim = call.Dim("dim", x.rank());
  std::int64_t index = call.Int("index");
  if (index < 0) index += x.dim(dim);
  if (index < 0 || index >= x.dim(dim)) return call.Fail("index is out of range");
  call.Output(OpCall::ReducedShape(x.shape(), {dim}, false), x.dtype(), [&](Indices at) {
    std::vector<Expr> full(at.begin(), at.end());
    full.insert(full.begin() + dim, Expr(index));
    return x(full);
  });
}

}  // namespace hone::op_select
