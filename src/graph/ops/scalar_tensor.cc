#include "graph/op.h"

namespace hone::op_scalar_tensor {

HONE_OP(scalar_tensor, "a number as a tensor") {
  const Expr value = call.Scalar("s");
  call.Output({}, call.Type("dtype", DType::kF32), [&](Indices) { return value; });
}

}  // namespace hone::op_scalar_tensor
