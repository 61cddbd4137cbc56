#include "graph/op.h"

namespace hone::op_instance_norm {

HONE_OP(instance_norm,
        "(input - mean) * rsqrt(var + eps) * weight + bias over the places of each channel of each sample") {
  const Operand x = call.Tensor("input");
  const auto weight = call.MaybeTensor("weight"), bias = call.MaybeTensor("bias");
  const auto mean_given = call.MaybeTensor("running_mean"), var_given = call.MaybeTensor("running_var");
  const bool own = call.Bool("use_input_stats");
  const double eps = call.Real("eps");
  if (x.rank() < 3) return call.Fail("needs input [n, c, ...]");
  if (!own && !(mean_given && var_given))
    return call.Fail("needs running statistics unless those of the input are used");
  const std::vector<std::int64_t> places(x.shape().begin() + 2, x.shape().end());
  const auto count = static_cast<double>(ElementCount(places));
  const auto element = [&](Indices at, Indices k) {
    std::vector<Expr> full(at.begin(), at.begin() + 2);
    full.insert(full.end(), k.begin(), k.end());
    return x(full);
  };
  const Shape rows = {x.dim(0), x.dim(1)};
  Operand mean, rstd;
  if (own) {
    mean = call.Let("mean", rows, KeptIn(x.dtype()), [&](Indices at) {
      return Fold(ReduceOp::kSum, places, [&](Indices k) { return element(at, k); }) / count;
    });
    rstd = call.Let("rstd", rows, KeptIn(x.dtype()), [&](Indices at) {
      const Expr squares = Fold(ReduceOp::kSum, places, [&](Indices k) {
        const Expr d = element(at, k) - mean(at);
        return d * d;
      });
      return Apply(UnaryOp::kRsqrt, squares / count + eps);
    });
  }
  call.Output(x.shape(), x.dtype(), [&](Indices at) {
    const std::vector<Expr> row = {at[0], at[1]};
    const Expr centre = own ? mean(row) : (*mean_given)({at[1]});
    Expr y = (x(at) - centre) * (own ? rstd(row) : Apply(UnaryOp::kRsqrt, (*var_given)({at[1]}) + eps));
    if (weight) y = y * (*weight)({at[1]});
    if (bias) y = y + (*bias)({at[1]});
    return y;
  });
}

}  // namespace hone::op_instance_norm
