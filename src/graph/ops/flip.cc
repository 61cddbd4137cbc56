#include "graph/op.h"

namespace hone::op_flip {

HONE_OP(flip, "self with the order along dims reversed") {
  const Operand x = call.Tensor("self");
  std::vector<int> dims;
  for (const auto dim : call.Ints("dims")) dims.push_back(call.WrapDim(dim, x.rank()));
  if (x.rank() == 0) return call.Output(x);
  call.Output(x.shape(), x.dtype(), [&](Indices at) {
    std::vector<Expr> full(at.begin(), at.end());
    for (const int dim : dims)
      full[static_cast<std::size_t>(dim)] = Expr(x.dim(dim) - 1) - at[static_cast<std::size_t>(dim)];
    return x(full);
  });
}

}  // namespace hone::op_flip
