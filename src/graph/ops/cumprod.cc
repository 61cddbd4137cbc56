#include "graph/op.h"

namespace hone::op_cumprod {

HONE_OP(cumprod, "product of self from the first element to this one along dim") {
  const Operand x = call.Tensor("self");
  const int dim = call.Dim("dim", x.rank());
  const DType dtype = call.Type("dtype", IsFloat(x.dtype()) ? x.dtype() : DType::kI64);
  const ScalarType type = ScalarTypeOf(dtype);
  call.Output(call.Scan("product", x.shape(), dtype, dim, Cast(1, type),
                        [&](Indices at, const Expr& before) { return before * Cast(x(at), type); }));
}

}  // namespace hone::op_cumprod
