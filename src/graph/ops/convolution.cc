#include "graph/op.h"

namespace hone::op_convolution {

HONE_OP(convolution,
        "sum over channels of the group and places of the kernel of input * weight, + bias; any number of dimensions, "
        "transposed too") {
  const Operand x = call.Tensor("input"), weight = call.Tensor("weight");
  const auto bias = call.MaybeTensor("bias");
  const int spatial = x.rank() - 2;
  const std::int64_t groups = call.Int("groups", 1);
  if (spatial < 1 || weight.rank() != x.rank())
    return call.Fail("needs input [n, c, ...] and weight [o, c / groups, ...]");
  const auto list = [&](std::string_view name, std::int64_t otherwise) {
    auto values = call.Ints(name, std::vector<std::int64_t>{otherwise});
    if (values.size() == 1) values.resize(static_cast<std::size_t>(spatial), values[0]);
    if (static_cast<int>(values.size()) != spatial)
      call.Fail("stride, padding, dilation and output_padding need one number a spatial dimension");
    values.resize(static_cast<std::size_t>(spatial));
    return values;
  };
  const auto stride = list("stride", 1), padding = list("padding", 0), dilation = list("dilation", 1),
             more = list("output_padding", 0);
  const bool transposed = call.Bool("transposed", false);
  if (groups < 1 || x.dim(1) % groups != 0 || weight.dim(0) % groups != 0 ||
      (transposed ? weight.dim(0) != x.dim(1) : weight.dim(1) * groups != x.dim(1))) {
    return call.Fail("the channels of input and weight do not fit");
  }
  const std::int64_t channels = x.dim(1) / groups;                                // of a group, in
  const std::int64_t made = transposed ? weight.dim(1) : weight.dim(0) / groups;  // of a group, out
  Shape shape = {x.dim(0), made * groups};
  std::vector<std::int64_t> extents = {channels};
  for (std::size_t d = 0; d < stride.size(); ++d) {
    const std::int64_t in = x.shape()[d + 2], reach = dilation[d] * (weight.shape()[d + 2] - 1);
    if (stride[d] < 1 || dilation[d] < 1) return call.Fail("stride and dilation have to be positive");
    shape.push_back(transposed ? (in - 1) * stride[d] - 2 * padding[d] + reach + more[d] + 1
                               : (in + 2 * padding[d] - reach - 1 + stride[d]) / stride[d]);
    extents.push_back(weight.shape()[d + 2]);
  }
  call.Output(shape, x.dtype(), [&](Indices at) {
    const Expr group = Apply(BinaryOp::kFloorDiv, at[1], made);
    const Expr sum = Fold(ReduceOp::kSum, extents, [&](Indices k) {
      const Expr channel = groups == 1 ? k[0] : group * channels + k[0];
      std::vector<Expr> from = {at[0], channel};
      std::vector<Expr> by =
          transposed ? std::vector<Expr>{channel, groups == 1 ? at[1] : Apply(BinaryOp::kFloorMod, at[1], made)}
                     : std::vector<Expr>{at[1], k[0]};
      Expr inside = Expr::Bool(true);
      for (std::size_t d = 0; d < stride.size(); ++d) {
        Expr place = transposed ? at[d + 2] + padding[d] - k[d + 1] * dilation[d]
                                : at[d + 2] * stride[d] + k[d + 1] * dilation[d] - padding[d];
        if (transposed && stride[d] > 1) {
          inside = And(inside, Equal(Apply(BinaryOp::kFloorMod, place, stride[d]), 0));
          place = Apply(BinaryOp::kFloorDiv, place, stride[d]);
        }
        if (transposed || padding[d] > 0) inside = And(And(inside, LessEqual(0, place)), Less(place, x.shape()[d + 2]));
        from.push_back(place);
        by.push_back(k[d + 1]);
      }
      return Select(inside, x(from), Cast(0.0, ScalarTypeOf(x.dtype()))) * weight(by);
    });
    return bias ? sum + (*bias)({at[1]}) : sum;
  });
}

}  // namespace hone::op_convolution
