#include "graph/diagonal.h"

namespace hone::op_diagonal_scatter {

HONE_OP(diagonal_scatter, "self with src on the diagonal, where the indices in dim1 and dim2 differ by offset") {
  const Operand x = call.Tensor("self"), source = call.Tensor("src");
  const auto diagonal = DiagonalOf(call, x);
  if (!diagonal) return;
  if (source.shape() != diagonal->shape) return call.Fail("src does not fit");
  call.Output(x.shape(), x.dtype(), [&](Indices at) {
    std::vector<Expr> place;
    for (int d = 0; d < x.rank(); ++d) {
      if (d != diagonal->dim1 && d != diagonal->dim2) place.push_back(at[static_cast<std::size_t>(d)]);
    }
    const Expr along = at[static_cast<std::size_t>(diagonal->dim1)] - diagonal->row;
    place.push_back(along);
    const Expr on_it = And(Equal(at[static_cast<std::size_t>(diagonal->dim2)] - diagonal->column, along),
                           And(LessEqual(Expr(std::int64_t{0}), along), Less(along, diagonal->shape.back())));
    return Select(on_it, Cast(source(place), ScalarTypeOf(x.dtype())), x(at));
  });
}

}  // namespace hone::op_diagonal_scatter
