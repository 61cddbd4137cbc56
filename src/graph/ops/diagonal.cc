#include "graph/diagonal.h"

namespace hone::op_diagonal {

HONE_OP(diagonal, "the elements of self whose indices in dim1 and dim2 differ by offset, as a new last dimension") {
  const Operand x = call.Tensor("self");
  const auto diagonal = DiagonalOf(call, x);
  if (!diagonal) return;
  call.Output(diagonal->shape, x.dtype(), [&](Indices at) {
    std::vector<Expr> full;
    std::size_t next = 0;
    for (int d = 0; d < x.rank(); ++d) {
      full.push_back(d == diagonal->dim1   ? at.back() + diagonal->row
                     : d == diagonal->dim2 ? at.back() + diagonal->column
                                           : at[next++]);
    }
    return x(full);
  });
}

}  // namespace hone::op_diagonal
