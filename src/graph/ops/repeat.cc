#include "graph/op.h"

namespace hone::op_repeat {

HONE_OP(repeat, "self laid out repeats times along each dimension") {
  const Operand x = call.Tensor("self");
  const auto repeats = call.Ints("repeats");
  if (repeats.size() < x.shape().size()) return call.Fail("repeats has fewer dimensions than self");
  const std::size_t added = repeats.size() - x.shape().size();
  Shape shape(repeats.begin(), repeats.end());
  for (std::size_t d = 0; d < x.shape().size(); ++d) shape[added + d] *= x.shape()[d];
  call.Output(shape, x.dtype(), [&](Indices at) {
    std::vector<Expr> full;
    for (std::size_t d = 0; d < x.shape().size(); ++d) {
      full.push_back(repeats[added + d] == 1 ? at[added + d] : Apply(BinaryOp::kFloorMod, at[added + d], x.shape()[d]));
    }
    return x(full);
  });
}

}  // namespace hone::op_repeat
