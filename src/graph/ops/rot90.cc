#include "graph/op.h"

namespace hone::op_rot90 {

HONE_OP(rot90, "self turned k quarters from the first towards the second of dims") {
  const Operand x = call.Tensor("self");
  const auto dims = call.Ints("dims", std::vector<std::int64_t>{0, 1});
  if (dims.size() != 2 || x.rank() < 2) return call.Fail("needs two dims");
  const int a = call.WrapDim(dims[0], x.rank()), b = call.WrapDim(dims[1], x.rank());
  const std::int64_t k = ((call.Int("k", 1) % 4) + 4) % 4;
  if (a == b || call.failed()) return call.Fail("needs two dims that differ");
  Shape shape = x.shape();
  if (k % 2 == 1) std::swap(shape[static_cast<std::size_t>(a)], shape[static_cast<std::size_t>(b)]);
  call.Output(shape, x.dtype(), [&](Indices at) {
    const Expr &i = at[static_cast<std::size_t>(a)], &j = at[static_cast<std::size_t>(b)];
    const Expr end_a = Expr(x.dim(a) - 1), end_b = Expr(x.dim(b) - 1);
    const Expr from_a = k == 0 ? i : k == 1 ? j : k == 2 ? end_a - i : end_a - j;
    const Expr from_b = k == 0 ? j : k == 1 ? end_b - i : k == 2 ? end_b - j : i;
    return x(Replaced(Replaced(at, a, from_a), b, from_b));
  });
}

}  // namespace hone::op_rot90
