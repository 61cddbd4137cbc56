#include <algorithm>

#include "graph/op.h"

namespace hone::op_permute {

HONE_OP(permute, "dimensions in the order of dims") {
  const Operand x = call.Tensor("self");
  std::vector<int> from;
  for (const auto dim : call.Ints("dims")) from.push_back(call.WrapDim(dim, x.rank()));
  std::vector<int> sorted = from;
  std::sort(sorted.begin(), sorted.end());
  for (int d = 0; d < x.rank(); ++d) {
    if (static_cast<int>(sorted.size()) != x.rank() || sorted[static_cast<std::size_t>(d)] != d)
      return call.Fail("dims has to name each dimension once");
  }
  Shape shape;
  for (const int d : from) shape.push_back(x.dim(d));
  call.Output(shape, x.dtype(), [&](Indices at) {
    std::vector<Expr> full(at.size());
    for (std::size_t d = 0; d < from.size(); ++d) full[static_cast<std::size_t>(from[d])] = at[d];
    return x(full);
  });
}

}  // namespace hone::op_permute
