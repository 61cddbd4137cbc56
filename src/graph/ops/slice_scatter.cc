#include <algorithm>
#include <limits>

#include "graph/op.h"

namespace hone::op_slice_scatter {

HONE_OP(slice_scatter, "self with src at start, start + step, ... below end along dim") {
  const Operand x = call.Tensor("self"), source = call.Tensor("src");
  if (x.rank() == 0) return call.Fail("needs at least one dimension");
  const int dim = call.Dim("dim", x.rank(), 0);
  const std::int64_t extent = x.dim(dim), step = call.Int("step", 1);
  const auto inside = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + extent : at, 0, extent); };
  const std::int64_t start = inside(call.Int("start", 0)),
                     end = std::max(inside(call.Int("end", std::numeric_limits<std::int64_t>::max())), start);
  if (step < 1) return call.Fail("step has to be positive");
  Shape shape = x.shape();
  shape[static_cast<std::size_t>(dim)] = (end - start + step - 1) / step;
  if (source.shape() != shape)
    return call.Fail("src has the shape " + ToString(source.shape()) + ", not " + ToString(shape));
  call.Output(x.shape(), x.dtype(), [&](Indices at) {
    const Expr& place = at[static_cast<std::size_t>(dim)];
    Expr written = And(LessEqual(start, place), Less(place, end));
    if (step > 1) written = And(written, Equal(Apply(BinaryOp::kFloorMod, place - start, step), 0));
    const Expr from = Apply(BinaryOp::kFloorDiv, place - start, step);
    return Select(written, Cast(source(Replaced(at, dim, from)), ScalarTypeOf(x.dtype())), x(at));
  });
}

}  // namespace hone::op_slice_scatter
