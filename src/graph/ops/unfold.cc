#include "graph/op.h"

namespace hone::op_unfold {

HONE_OP(unfold, "windows of size elements, step apart, along dimension: the window is a new last dimension") {
  const Operand x = call.Tensor("self");
  const int dim = call.Dim("dimension", x.rank());
  const std::int64_t size = call.Int("size"), step = call.Int("step");
  if (x.rank() == 0) {
    if (size != 1 || step < 1) return call.Fail("a scalar has only windows of one element");
    return call.Output(call.Reshape(x, {1}));
  }
  if (size < 0 || size > x.dim(dim) || step < 1) return call.Fail("size or step is out of range");
  Shape shape = x.shape();
  shape[static_cast<std::size_t>(dim)] = (x.dim(dim) - size) / step + 1;
  shape.push_back(size);
  call.Output(shape, x.dtype(), [&](Indices at) {
    return x(Replaced(at.first(at.size() - 1), dim, at[static_cast<std::size_t>(dim)] * step + at.back()));
  });
}

}  // namespace hone::op_unfold
