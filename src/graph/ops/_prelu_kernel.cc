#include "graph/op.h"

namespace hone::op__prelu_kernel {

HONE_OP(_prelu_kernel, "self where positive, else self * weight") {
  const Operand x = call.Tensor("self"), weight = call.Tensor("weight");
  call.Elementwise(x.dtype(), {x, weight}, [](auto v) { return Select(Less(0.0, v[0]), v[0], v[1] * v[0]); });
}

}  // namespace hone::op__prelu_kernel
