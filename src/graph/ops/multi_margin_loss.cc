#include "graph/loss.h"

namespace hone::op_multi_margin_loss {

HONE_OP(multi_margin_loss,
        "mean over the other classes of max(margin - self[target] + self[c], 0)^p weight[target], reduced") {
  const Operand given = call.Tensor("self"), named = call.Tensor("target");
  const auto weight = call.MaybeTensor("weight");
  const std::int64_t p = call.Int("p", 1);
  const double margin = call.Real("margin", 1);
  if (given.rank() < 1 || given.rank() > 2 || p < 1 || p > 2) return call.Fail("needs [n, c] or [c], and p of 1 or 2");
  const Operand x = given.rank() == 2 ? given : call.Reshape(given, {1, given.dim(0)});
  const Operand target = call.Reshape(named, {x.dim(0)});
  const auto loss = [&](Indices at) {
    const Expr own = target({at[0]});
    const Expr sum = Fold(ReduceOp::kSum, std::vector<std::int64_t>{x.dim(1)}, [&](Indices c) {
      const Expr z = Max(Expr(margin) - x({at[0], own}) + x({at[0], c[0]}), 0.0);
      const Expr term = p == 1 ? z : z * z;
      return Select(Equal(c[0], own), 0.0, weight ? term * (*weight)({own}) : term);
    });
    return sum / static_cast<double>(x.dim(1));
  };
  if (given.rank() == 2) return OutputLoss(call, {x.dim(0)}, x.dtype(), loss);
  call.Int("reduction", 1);  // of one loss, which is its own mean and sum
  call.Output({}, x.dtype(), [&](Indices) { return loss(std::vector<Expr>{Expr(0)}); });
}

}  // namespace hone::op_multi_margin_loss
