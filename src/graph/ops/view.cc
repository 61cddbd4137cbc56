#include "graph/op.h"

namespace hone::op_view {

HONE_OP(view, "the same elements in row-major order under another shape; one extent may be -1") {
  if (call.overload() == "dtype") return call.Fail("hone does not define views of the bits as another type");
  const Operand x = call.Tensor("self");
  Shape shape = call.Ints(call.Has("shape") ? "shape" : "size");
  std::int64_t known = 1;
  for (const auto extent : shape) known *= extent == -1 ? 1 : extent;
  for (auto& extent : shape) {
    if (extent == -1) extent = known > 0 ? ElementCount(x.shape()) / known : 0;
  }
  call.Output(call.Reshape(x, shape));
}

}  // namespace hone::op_view
