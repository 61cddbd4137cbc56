#include <algorithm>

#include "graph/op.h"

namespace hone::op_diagonal {

HONE_OP(diagonal, "the elements of self whose indices in dim1 and dim2 differ by offset, as a new last dimension") {
  const Operand x = call.Tensor("self");
  const std::int64_t offset = call.Int("offset", 0);
  if (x.rank() < 2) return call.Fail("needs at least two dimensions");
  const int a = call.WrapDim(call.Int("dim1", 0), x.rank()), b = call.WrapDim(call.Int("dim2", 1), x.rank());
  if (a == b) return call.Fail("dim1 and dim2 are the same");
  Shape shape = OpCall::ReducedShape(x.shape(), {a, b}, false);
  const std::int64_t row = std::max<std::int64_t>(-offset, 0), column = std::max<std::int64_t>(offset, 0);
  shape.push_back(std::max<std::int64_t>(std::min(x.dim(a) - row, x.dim(b) - column), 0));
  call.Output(shape, x.dtype(), [&](Indices at) {
    std::vector<Expr> full;
    std::size_t next = 0;
    for (int d = 0; d < x.rank(); ++d)
      full.push_back(d == a ? at.back() + row : d == b ? at.back() + column : at[next++]);
    return x(full);
  });
}

}  // namespace hone::op_diagonal
