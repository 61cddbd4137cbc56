#include "graph/op.h"

namespace hone::op_tril {

HONE_OP(tril, "self on and below a diagonal, 0 above") {
  const Operand x = call.Tensor("self");
  const std::int64_t diagonal = call.Int("diagonal", 0);
  if (x.rank() < 2) return call.Fail("needs at least two dimensions");
  call.Output(x.shape(), x.dtype(), [&](Indices at) {
    return Select(LessEqual(at.back() - at[at.size() - 2], diagonal), x(at), Cast(0.0, ScalarTypeOf(x.dtype())));
  });
}

}  // namespace hone::op_tril
