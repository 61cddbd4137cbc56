#include <algorithm>

#include "graph/op.h"

namespace hone::op_repeat_interleave {

HONE_OP(repeat_interleave, "each slice of self along dim (flat when absent) repeats times") {
  if (call.IsTensor("repeats"))
    return call.Fail("hone does not define a tensor of repeats: the shape of the result hangs on it");
  const Operand given = call.Tensor("self");
  call.Ignore({"output_size"});  // follows from the others
  const std::int64_t repeats = call.Int("repeats");
  if (repeats < 0) return call.Fail("repeats cannot be negative");
  const Operand x = call.Has("dim") && given.rank() > 0 ? given : call.Reshape(given, {ElementCount(given.shape())});
  const int dim = call.Has("dim") ? call.Dim("dim", x.rank()) : 0;
  Shape shape = x.shape();
  shape[static_cast<std::size_t>(dim)] *= repeats;
  call.Output(shape, x.dtype(), [&](Indices at) {
    return x(Replaced(
        at, dim, Apply(BinaryOp::kFloorDiv, at[static_cast<std::size_t>(dim)], std::max<std::int64_t>(repeats, 1))));
  });
}

}  // namespace hone::op_repeat_interleave
