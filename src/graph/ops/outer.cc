#include "graph/op.h"

namespace hone::op_outer {

HONE_OP(outer, "self[i] * vec2[j]") {
  const Operand a = call.Tensor("self"), b = call.Tensor("vec2");
  if (a.rank() != 1 || b.rank() != 1) return call.Fail("needs two vectors");
  const DType dtype = Promote(a.dtype(), b.dtype());
  const ScalarType type = ScalarTypeOf(dtype);
  call.Output({a.dim(0), b.dim(0)}, dtype, [&](Indices at) {
    const Expr x = Cast(a({at[0]}), type), y = Cast(b({at[1]}), type);
    return type == ScalarType::kBool ? And(x, y) : x * y;
  });
}

}  // namespace hone::op_outer
