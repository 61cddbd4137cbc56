#include <algorithm>

#include "graph/op.h"

namespace hone::op_native_batch_norm {

HONE_OP(native_batch_norm,
        "(input - mean) * rsqrt(var + eps) * weight + bias a channel, with the batch's statistics when training, else "
        "the running ones; and those") {
  const Operand x = call.Tensor("input");
  const auto weight = call.MaybeTensor("weight"), bias = call.MaybeTensor("bias");
  const auto running_mean = call.MaybeTensor("running_mean"), running_var = call.MaybeTensor("running_var");
  const bool training = call.Bool("training", false);
  const double eps = call.Real("eps", 1e-5), momentum = call.Real("momentum", 0.1);
  if (x.rank() < 2) return call.Fail("needs input [n, c, ...]");
  if (!training && !(running_mean && running_var))
    return call.Fail("needs running_mean and running_var when not training");
  const Shape channels = {x.dim(1)};
  for (const auto& given : {weight, bias, running_mean, running_var}) {
    if (given && given->shape() != channels)
      return call.Fail("weight, bias and running statistics need one number a channel");
  }
  std::vector<std::int64_t> extents;
  double count = 1;
  for (int d = 0; d < x.rank(); ++d) {
    if (d == 1) continue;
    extents.push_back(x.dim(d));
    count *= static_cast<double>(x.dim(d));
  }
  const auto element = [&](Indices at, Indices k) {
    std::vector<Expr> full = {k[0], at[0]};
    full.insert(full.end(), k.begin() + 1, k.end());
    return x(full);
  };
  Operand mean, rstd, squares;
  if (training) {
    mean = call.Let("mean", channels, KeptIn(x.dtype()), [&](Indices at) {
      return Fold(ReduceOp::kSum, extents, [&](Indices k) { return element(at, k); }) / count;
    });
    squares = call.Let("squares", channels, KeptIn(x.dtype()), [&](Indices at) {
      return Fold(ReduceOp::kSum, extents, [&](Indices k) {
        const Expr d = element(at, k) - mean(at);
        return d * d;
      });
    });
    rstd = call.Let("rstd", channels, KeptIn(x.dtype()),
                    [&](Indices at) { return Apply(UnaryOp::kRsqrt, squares(at) / count + eps); });
  } else {
    mean = *running_mean;
    rstd = call.Let("rstd", channels, KeptIn(x.dtype()),
                    [&](Indices at) { return Apply(UnaryOp::kRsqrt, (*running_var)(at) + eps); });
  }
  call.Output(x.shape(), x.dtype(), [&](Indices at) {
    const std::vector<Expr> channel = {at[1]};
    Expr y = (x(at) - mean(channel)) * rstd(channel);
    if (weight) y = y * (*weight)(channel);
    if (bias) y = y + (*bias)(channel);
    return y;
  });
  if (training) {
    call.Output(call.As(mean, x.dtype()));
    call.Output(call.As(rstd, x.dtype()));
  } else {
    for (int i = 0; i < 2; ++i) call.Output({0}, x.dtype(), [](Indices) { return Expr(0.0); });
  }
  // What the functional form gives beside: the running statistics as they are after this call.
  if (!running_mean || !running_var) return;
  if (!training) {
    call.Output(*running_mean);
    call.Output(*running_var);
    return;
  }
  call.Output(channels, running_mean->dtype(),
              [&](Indices at) { return (*running_mean)(at) * (1 - momentum) + mean(at) * momentum; });
  call.Output(channels, running_var->dtype(), [&](Indices at) {
    return (*running_var)(at) * (1 - momentum) + squares(at) * (momentum / std::max(count - 1, 0.0));
  });
}

}  // namespace hone::op_native_batch_norm
