#include "graph/op.h"

namespace hone::op_expand {

HONE_OP(expand, "self with dimensions of extent 1 repeated to size; -1 keeps one") {
  const Operand x = call.Tensor("self");
  Shape shape = call.Ints("size");
  const int added = static_cast<int>(shape.size()) - x.rank();
  if (added < 0) return call.Fail("size has fewer dimensions than self");
  for (int d = 0; d < x.rank(); ++d) {
    auto& extent = shape[static_cast<std::size_t>(added + d)];
    if (extent == -1) extent = x.dim(d);
    if (x.dim(d) != 1 && x.dim(d) != extent)
      return call.Fail(ToString(x.shape()) + " does not expand to " + ToString(shape));
  }
  call.Output(shape, x.dtype(), [&](Indices at) { return x.Broadcast(at); });
}

}  // namespace hone::op_expand
