#include "graph/op.h"

namespace hone::op_roll {

HONE_OP(roll, "self moved on by shifts along dims (flat when absent); what leaves at the end comes in at the start") {
  const Operand x = call.Tensor("self");
  const auto shifts = call.Ints("shifts"), dims = call.Ints("dims", std::vector<std::int64_t>{});
  if (ElementCount(x.shape()) == 0) return call.Output(x);
  if (dims.empty()) {
    if (shifts.size() != 1) return call.Fail("needs one shift when dims is absent");
    return call.Output(x.shape(), x.dtype(), [&](Indices at) {
      const Expr from = Apply(BinaryOp::kFloorMod, Flatten(at, x.shape()) - shifts[0], ElementCount(x.shape()));
      return x(Unflatten(from, x.shape()));
    });
  }
  if (dims.size() != shifts.size()) return call.Fail("needs as many shifts as dims");
  Shape total(x.shape().size(), 0);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto d = static_cast<std::size_t>(call.WrapDim(dims[i], x.rank()));
    if (d < total.size()) total[d] += shifts[i];
  }
  call.Output(x.shape(), x.dtype(), [&](Indices at) {
    std::vector<Expr> full(at.begin(), at.end());
    for (std::size_t d = 0; d < full.size(); ++d) {
      const std::int64_t extent = x.shape()[d], shift = (total[d] % extent + extent) % extent;
      // No division: index - shift, and one turn more for those that came round.
      if (shift != 0) full[d] = Select(Less(at[d], shift), at[d] + (extent - shift), at[d] - shift);
    }
    return x(full);
  });
}

}  // namespace hone::op_roll
