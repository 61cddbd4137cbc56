#include "graph/op.h"

namespace hone::op_index_select {

HONE_OP(index_select, "the slices of self along dim that index names") {
  const Operand x = call.Tensor("self"), index = call.Tensor("index");
  const int dim = call.Dim("dim", x.rank());
  if (index.rank() > 1) return call.Fail("index has to be a vector");
  Shape shape = x.shape();
  if (x.rank() > 0) shape[static_cast<std::size_t>(dim)] = ElementCount(index.shape());
  call.Output(shape, x.dtype(), [&](Indices at) {
    if (x.rank() == 0) return x(std::vector<Expr>{});
    std::vector<Expr> full(at.begin(), at.end());
    full[static_cast<std::size_t>(dim)] =
        index.rank() == 0 ? index(std::vector<Expr>{}) : index({at[static_cast<std::size_t>(dim)]});
    return x(full);
  });
}

}  // namespace hone::op_index_select
