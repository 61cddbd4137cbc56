#include <utility>

#include "graph/op.h"

namespace hone::op_transpose {

HONE_OP(transpose, "dimensions dim0 and dim1 swapped") {
  const Operand x = call.Tensor("self");
  const int a = call.Dim("dim0", x.rank()), b = call.Dim("dim1", x.rank());
  if (x.rank() == 0) return call.Output(x);
  Shape shape = x.shape();
  std::swap(shape[static_cast<std::size_t>(a)], shape[static_cast<std::size_t>(b)]);
  call.Output(shape, x.dtype(), [&](Indices at) {
    std::vector<Expr> full(at.begin(), at.end());
    std::swap(full[static_cast<std::size_t>(a)], full[static_cast<std::size_t>(b)]);
    return x(full);
  });
}

}  // namespace hone::op_transpose
