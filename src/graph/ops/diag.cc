#include <algorithm>

#include "graph/op.h"

namespace hone::op_diag {

HONE_OP(diag, "the diagonal of a matrix as a vector, or a matrix with a vector on its diagonal") {
  const Operand x = call.Tensor("self");
  const std::int64_t offset = call.Int("diagonal", 0);
  const std::int64_t row = std::max<std::int64_t>(-offset, 0), column = std::max<std::int64_t>(offset, 0);
  if (x.rank() == 2) {
    const std::int64_t count = std::max<std::int64_t>(std::min(x.dim(0) - row, x.dim(1) - column), 0);
    return call.Output({count}, x.dtype(), [&](Indices at) { return x({at[0] + row, at[0] + column}); });
  }
  if (x.rank() != 1) return call.Fail("needs a vector or a matrix");
  const std::int64_t extent = x.dim(0) + row + column;
  call.Output({extent, extent}, x.dtype(), [&](Indices at) {
    const Expr i = at[0] - row;
    const Expr on = And(Equal(at[1] - at[0], offset), And(LessEqual(0, i), Less(i, x.dim(0))));
    return Select(on, x({i}), Cast(0, ScalarTypeOf(x.dtype())));
  });
}

}  // namespace hone::op_diag
