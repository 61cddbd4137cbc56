#include <algorithm>
#include <limits>

#include "graph/op.h"

namespace hone::op_slice {

HONE_OP(slice, "elements start, start + step, ... below end along dim") {
  const Operand x = call.Tensor("self");
  if (x.rank() == 0) return call.Fail("needs at least one dimension");
  const int dim = call.Dim("dim", x.rank(), 0);
  const std::int64_t extent = x.dim(dim), step = call.Int("step", 1);
  const auto inside = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + extent : at, 0, extent); };
  const std::int64_t start = inside(call.Int("start", 0)),
                     end = inside(call.Int("end", std::numeric_limits<std::int64_t>::max()));
  if (step < 1) return call.Fail("step has to be positive");
  Shape shape = x.shape();
  shape[static_cast<std::size_t>(dim)] = end > start ? (end - start + step - 1) / step : 0;
  call.Output(shape, x.dtype(), [&](Indices at) {
    std::vector<Expr> full(at.begin(), at.end());
    auto& index = full[static_cast<std::size_t>(dim)];
    index = index * step + start;
    return x(full);
  });
}

}  // namespace hone::op_slice
