#include <algorithm>

#include "graph/op.h"

namespace hone::op_gather {

HONE_OP(gather, "self[..., index[i, j, ...] at dim, ...]") {
  const Operand x = call.Tensor("self"), index = call.Tensor("index");
  const int dim = call.Dim("dim", x.rank());
  if (ElementCount(index.shape()) == 0) {
    return call.Output(index.shape(), x.dtype(), [&](Indices) { return Cast(0, ScalarTypeOf(x.dtype())); });
  }
  if (std::max(x.rank(), 1) != std::max(index.rank(), 1)) return call.Fail("index needs as many dimensions as self");
  call.Output(index.shape(), x.dtype(), [&](Indices at) {
    std::vector<Expr> full(at.begin(), at.end());
    full.resize(x.shape().size());
    const std::vector<Expr> place(at.begin(), at.end());
    if (x.rank() > 0) full[static_cast<std::size_t>(dim)] = index(place);
    return x(full);
  });
}

}  // namespace hone::op_gather
