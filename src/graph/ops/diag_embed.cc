#include <algorithm>
#include <cstdlib>

#include "graph/op.h"

namespace hone::op_diag_embed {

HONE_OP(diag_embed,
        "a matrix in dim1 and dim2 with the last dimension of self on the diagonal offset; zero elsewhere") {
  const Operand x = call.Tensor("self");
  const std::int64_t offset = call.Int("offset", 0);
  if (x.rank() < 1) return call.Fail("needs at least one dimension");
  const int rank = x.rank() + 1;
  const int a = call.WrapDim(call.Int("dim1", -2), rank), b = call.WrapDim(call.Int("dim2", -1), rank);
  if (a == b) return call.Fail("dim1 and dim2 are the same");
  const std::int64_t extent = x.dim(x.rank() - 1) + std::abs(offset);
  Shape shape;
  std::size_t next = 0;
  for (int d = 0; d < rank; ++d) shape.push_back(d == a || d == b ? extent : x.shape()[next++]);
  const std::int64_t row = std::max<std::int64_t>(-offset, 0);
  call.Output(shape, x.dtype(), [&](Indices at) {
    std::vector<Expr> full;
    for (int d = 0; d < rank; ++d) {
      if (d != a && d != b) full.push_back(at[static_cast<std::size_t>(d)]);
    }
    const Expr &i = at[static_cast<std::size_t>(a)], &j = at[static_cast<std::size_t>(b)];
    full.push_back(i - row);
    const Expr on = And(Equal(j - i, offset), And(LessEqual(0, full.back()), Less(full.back(), x.dim(x.rank() - 1))));
    return Select(on, x(full), Cast(0, ScalarTypeOf(x.dtype())));
  });
}

}  // namespace hone::op_diag_embed
