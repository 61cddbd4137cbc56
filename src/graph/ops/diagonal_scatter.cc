#include <algorithm>
#include <vector>

#include "graph/op.h"

namespace hone::op_diagonal_scatter {

HONE_OP(diagonal_scatter, "self with src on the diagonal, where the indices in dim1 and dim2 differ by offset") {
  const Operand x = call.Tensor("self"), source = call.Tensor("src");
  const std::int64_t offset = call.Int("offset", 0);
  if (x.rank() < 2) return call.Fail("needs at least two dimensions");
  const int a = call.WrapDim(call.Int("dim1", 0), x.rank()), b = call.WrapDim(call.Int("dim2", 1), x.rank());
  if (a == b) return call.Fail("dim1 and dim2 are the same");
  Shape shape = OpCall::ReducedShape(x.shape(), {a, b}, false);
  const std::int64_t row = std::max<std::int64_t>(-offset, 0), column = std::max<std::int64_t>(offset, 0);
  shape.push_back(std::max<std::int64_t>(std::min(x.dim(a) - row, x.dim(b) - column), 0));
  if (source.shape() != shape) return call.Fail("src does not fit");
  call.Output(x.shape(), x.dtype(), [&](Indices at) {
    std::vector<Expr> place;
    for (int d = 0; d < x.rank(); ++d) {
      if (d != a && d != b) place.push_back(at[static_cast<std::size_t>(d)]);
    }
    const Expr &i = at[static_cast<std::size_t>(a)], &j = at[static_cast<std::size_t>(b)];
    place.push_back(i - row);
    const Expr on_it = And(Equal(j - i, offset), And(LessEqual(row, i), Less(i - row, shape.back())));
    return Select(on_it, Cast(source(place), ScalarTypeOf(x.dtype())), x(at));
  });
}

}  // namespace hone::op_diagonal_scatter
