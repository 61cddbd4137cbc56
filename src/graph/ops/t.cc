#include <utility>

#include "graph/op.h"

namespace hone::op_t {

HONE_OP(t, "matrix transposed; a vector is itself") {
  const Operand x = call.Tensor("self");
  if (x.rank() > 2) return call.Fail("needs at most two dimensions");
  if (x.rank() < 2) return call.Output(x);
  const int a = 0, b = 1;
  Shape shape = x.shape();
  std::swap(shape[static_cast<std::size_t>(a)], shape[static_cast<std::size_t>(b)]);
  call.Output(shape, x.dtype(), [&](Indices at) {
    std::vector<Expr> full(at.begin(), at.end());
    std::swap(full[static_cast<std::size_t>(a)], full[static_cast<std::size_t>(b)]);
    return x(full);
  });
}

}  // namespace hone::op_t
