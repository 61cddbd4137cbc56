#include "graph/op.h"

namespace hone::op_diff {

HONE_OP(diff, "differences of neighbours along dim, n times") {
  Operand x = call.Tensor("self");
  const int dim = call.Dim("dim", x.rank(), -1);
  const std::int64_t n = call.Int("n", 1);
  if (call.Has("prepend") || call.Has("append"))
    return call.Fail("hone does not define diff with prepend or append: cat them");
  if (x.rank() == 0) return call.Fail("needs at least one dimension");
  for (std::int64_t i = 0; i < n && x.dim(dim) > 0; ++i) {
    Shape shape = x.shape();
    --shape[static_cast<std::size_t>(dim)];
    x = call.Let("difference", shape, x.dtype(), [&](Indices at) {
      const Expr later = x(Replaced(at, dim, at[static_cast<std::size_t>(dim)] + 1));
      if (x.dtype() == DType::kBool) return Apply(BinaryOp::kXor, later, x(at));
      return later - x(at);
    });
  }
  call.Output(x);
}

}  // namespace hone::op_diff
