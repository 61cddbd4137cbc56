#include "graph/op.h"

namespace hone::op_fill {

HONE_OP(fill, "value everywhere, of the shape of self") {
  const Operand x = call.Tensor("self");
  const Expr value = call.IsTensor("value") ? call.Tensor("value")(std::vector<Expr>{}) : call.Scalar("value");
  call.Output(x.shape(), x.dtype(), [&](Indices) { return Cast(value, ScalarTypeOf(x.dtype())); });
}

}  // namespace hone::op_fill
