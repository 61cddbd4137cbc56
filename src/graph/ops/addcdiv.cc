#include "graph/op.h"

namespace hone::op_addcdiv {

HONE_OP(addcdiv, "self + value * tensor1 / tensor2") {
  const Operand self = call.Tensor("self"), a = call.Tensor("tensor1"), b = call.Tensor("tensor2");
  const DType dtype = call.CommonType({"self", "tensor1", "tensor2"});
  const ScalarType type = ScalarTypeOf(dtype);
  const Expr value = Cast(call.Scalar("value", 1), type);
  call.Elementwise(dtype, {self, a, b},
                   [&](auto v) { return Cast(v[0], type) + value * Cast(v[1], type) / Cast(v[2], type); });
}

}  // namespace hone::op_addcdiv
