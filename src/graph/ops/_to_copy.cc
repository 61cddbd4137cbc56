#include "graph/op.h"

namespace hone::op__to_copy {

HONE_OP(_to_copy, "self as another element type") {
  const Operand x = call.Tensor("self");
  const DType dtype = call.Type("dtype", x.dtype());
  if (dtype == x.dtype()) return call.Output(x);
  call.Elementwise(dtype, {x}, [&](auto v) { return Cast(v[0], ScalarTypeOf(dtype)); });
}

}  // namespace hone::op__to_copy
