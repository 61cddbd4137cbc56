#include "graph/diagonal.h"

#include <algorithm>

namespace hone {

std::optional<Diagonal> DiagonalOf(OpCall& call, const Operand& x) {
  const std::int64_t offset = call.Int("offset", 0);
  if (x.rank() < 2) {
    call.Fail("needs at least two dimensions");
    return std::nullopt;
  }
  Diagonal diagonal{.dim1 = call.WrapDim(call.Int("dim1", 0), x.rank()),
                    .dim2 = call.WrapDim(call.Int("dim2", 1), x.rank()),
                    .row = std::max<std::int64_t>(-offset, 0),
                    .column = std::max<std::int64_t>(offset, 0)};
  if (diagonal.dim1 == diagonal.dim2) {
    call.Fail("dim1 and dim2 are the same");
    return std::nullopt;
  }
  diagonal.shape = OpCall::ReducedShape(x.shape(), {diagonal.dim1, diagonal.dim2}, false);
  const std::int64_t rows = x.dim(diagonal.dim1) - diagonal.row, columns = x.dim(diagonal.dim2) - diagonal.column;
  diagonal.shape.push_back(std::max<std::int64_t>(std::min(rows, columns), 0));
  return diagonal;
}

}  // namespace hone
