#include "graph/op.h"

namespace hone::op_select_scatter {

HONE_OP(select_scatter, "self with src at index along dim") {
  const Operand x = call.Tensor("self"), source = call.Tensor("src");
  if (x.rank() == 0) return call.Fail("needs at least one dimension");
  const int dim = call.Dim("dim", x.rank());
  std::int64_t index = call.Int("index");
  if (index < 0) index += x.dim(dim);
  if (index < 0 || index >= x.dim(dim)) return call.Fail("index is out of range");
  if (source.shape() != OpCall::ReducedShape(x.shape(), {dim}, false)) return call.Fail("src does not fit");
  call.Output(x.shape(), x.dtype(), [&](Indices at) {
    std::vector<Expr> full(at.begin(), at.end());
    full.erase(full.begin() + dim);
    return Select(Equal(at[static_cast<std::size_t>(dim)], index), Cast(source(full), ScalarTypeOf(x.dtype())), x(at));
  });
}

}  // namespace hone::op_select_scatter
