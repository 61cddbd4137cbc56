#include "graph/op.h"

namespace hone::op_copy {

HONE_OP(copy, "src, repeated to self's shape and as self's element type") {
  const Operand x = call.Tensor("self"), source = call.Tensor("src");
  if (call.BroadcastShape({x, source}) != x.shape()) return call.Fail("src does not broadcast to self");
  call.Output(x.shape(), x.dtype(), [&](Indices at) { return Cast(source.Broadcast(at), ScalarTypeOf(x.dtype())); });
}

}  // namespace hone::op_copy
