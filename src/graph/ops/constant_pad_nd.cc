#include "graph/op.h"

namespace hone::op_constant_pad_nd {

HONE_OP(constant_pad_nd, "self with value around it; pad counts from the last dimension, before and after") {
  const Operand x = call.Tensor("self");
  const auto pad = call.Ints("pad");
  const Expr value = Cast(call.Scalar("value", 0), ScalarTypeOf(x.dtype()));
  if (pad.size() % 2 != 0 || pad.size() / 2 > x.shape().size())
    return call.Fail("pad has to hold two numbers for each of the last dimensions");
  Shape shape = x.shape();
  std::vector<std::int64_t> before(shape.size());
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    const std::size_t d = shape.size() - 1 - i;
    before[d] = pad[2 * i];
    shape[d] += pad[2 * i] + pad[2 * i + 1];
  }
  call.Output(shape, x.dtype(), [&](Indices at) {
    std::vector<Expr> full(at.begin(), at.end());
    Expr inside = Expr::Bool(true);
    for (std::size_t d = 0; d < full.size(); ++d) {
      full[d] = at[d] - before[d];
      if (before[d] > 0) inside = And(inside, LessEqual(0, full[d]));
      if (shape[d] - before[d] > x.shape()[d]) inside = And(inside, Less(full[d], x.shape()[d]));
    }
    return Select(inside, x(full), value);
  });
}

}  // namespace hone::op_constant_pad_nd
