#include "graph/loss.h"

namespace hone::op__pdist_forward {

// Pairs i < j in the order of i, then j: those of i begin at i * (2n - i - 1) / 2.
HONE_OP(_pdist_forward, "|x[i] - x[j]|_p of all pairs of rows i < j") {
  const Operand x = call.Tensor("self");
  const double p = call.Real("p", 2);
  if (x.rank() != 2) return call.Fail("needs a matrix");
  const std::int64_t n = x.dim(0), pairs = n * (n - 1) / 2;
  const auto begin = [n](const Expr& row) {
    return Apply(BinaryOp::kFloorDiv, row * (Expr(2 * n - 1) - row), Expr(std::int64_t{2}));
  };
  const Operand row = call.Let("row", {pairs}, DType::kI64, [&](Indices at) {
    const IndexVar before = NewIndex(std::max<std::int64_t>(n - 2, 0));
    return Reduce(ReduceOp::kSum, {before},
                  Select(LessEqual(begin(Expr(before) + 1), at[0]), Expr(std::int64_t{1}), Expr(std::int64_t{0})));
  });
  call.Output({pairs}, x.dtype(), [&](Indices at) {
    const Expr i = row({at[0]}), j = at[0] - begin(i) + i + 1;
    return LengthOf(p, {x.dim(1)}, [&](Indices k) { return Abs(x({i, k[0]}) - x({j, k[0]})); });
  });
}

}  // namespace hone::op__pdist_forward
