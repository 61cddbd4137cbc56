#include "graph/op.h"

namespace hone::op_triu {

HONE_OP(triu, "self on and above a diagonal, 0 below") {
  const Operand x = call.Tensor("self");
  const std::int64_t diagonal = call.Int("diagonal", 0);
  if (x.rank() < 2) return call.Fail("needs at least two dimensions");
  call.Output(x.shape(), x.dtype(), [&](Indices at) {
    return Select(LessEqual(diagonal, at.back() - at[at.size() - 2]), x(at), Cast(0.0, ScalarTypeOf(x.dtype())));
  });
}

}  // namespace hone::op_triu
