#include <algorithm>

#include "graph/op.h"

namespace hone::op_native_group_norm {

HONE_OP(native_group_norm, "group_norm, and the mean and 1/deviation of each group") {
  const Operand x = call.Tensor("input");
  call.Ignore({"N", "C", "HxW"});  // its shape says them
  const std::int64_t groups = call.Int(call.Has("num_groups") ? "num_groups" : "group");
  const auto weight = call.MaybeTensor("weight"), bias = call.MaybeTensor("bias");
  const double eps = call.Real("eps", 1e-5);
  if (x.rank() < 2 || groups < 1 || x.dim(1) % groups != 0)
    return call.Fail("the channels have to divide into the groups");
  const std::int64_t batch = x.dim(0), channels = x.dim(1) / groups,
                     places = ElementCount(x.shape()) / std::max<std::int64_t>(batch * x.dim(1), 1);
  const double count = static_cast<double>(channels * places);
  // In the shape [batch, group, channel of the group, place] every index is affine.
  const Operand grouped = call.Reshape(x, {batch, groups, channels, places});
  const std::vector<std::int64_t> extents = {channels, places};
  const Operand mean = call.Let("mean", {batch, groups}, KeptIn(x.dtype()), [&](Indices at) {
    return Fold(ReduceOp::kSum, extents, [&](Indices k) { return grouped({at[0], at[1], k[0], k[1]}); }) /
           std::max(count, 1.0);
  });
  const Operand rstd = call.Let("rstd", {batch, groups}, KeptIn(x.dtype()), [&](Indices at) {
    const Expr squares = Fold(ReduceOp::kSum, extents, [&](Indices k) {
      const Expr d = grouped({at[0], at[1], k[0], k[1]}) - mean({at[0], at[1]});
      return d * d;
    });
    return Apply(UnaryOp::kRsqrt, squares / count + eps);
  });
  const Operand normal = call.Let("normal", {batch, groups, channels, places}, x.dtype(), [&](Indices at) {
    Expr y = (grouped({at[0], at[1], at[2], at[3]}) - mean({at[0], at[1]})) * rstd({at[0], at[1]});
    if (weight) y = y * (*weight)({at[1] * channels + at[2]});
    if (bias) y = y + (*bias)({at[1] * channels + at[2]});
    return y;
  });
  call.Output(call.Reshape(normal, x.shape()));
  call.Output(call.As(mean, x.dtype()));
  call.Output(call.As(rstd, x.dtype()));
}

}  // namespace hone::op_native_group_norm
