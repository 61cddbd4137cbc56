#include "graph/op.h"

namespace hone::op_channel_shuffle {

HONE_OP(channel_shuffle, "[n, groups * c, ...] with the channels of the groups taken in turn") {
  const Operand x = call.Tensor("self");
  const std::int64_t groups = call.Int("groups");
  if (x.rank() < 3 || groups < 1 || x.dim(1) % groups != 0) return call.Fail("the channels do not fit the groups");
  call.Output(x.shape(), x.dtype(), [&](Indices at) {
    const Expr from =
        Apply(BinaryOp::kFloorMod, at[1], groups) * (x.dim(1) / groups) + Apply(BinaryOp::kFloorDiv, at[1], groups);
    return x(Replaced(at, 1, from));
  });
}

}  // namespace hone::op_channel_shuffle
