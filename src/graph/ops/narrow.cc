#include "graph/op.h"

namespace hone::op_narrow {

HONE_OP(narrow, "length elements of self from start on along dim") {
  const Operand x = call.Tensor("self");
  if (x.rank() == 0) return call.Fail("needs at least one dimension");
  if (call.IsTensor("start")) return call.Fail("hone does not define narrow from where a tensor says");
  const int dim = call.Dim("dim", x.rank());
  const std::int64_t length = call.Int("length");
  std::int64_t start = call.Int("start");
  if (start < 0) start += x.dim(dim);
  if (start < 0 || length < 0 || start + length > x.dim(dim)) return call.Fail("reads past the end");
  Shape shape = x.shape();
  shape[static_cast<std::size_t>(dim)] = length;
  call.Output(shape, x.dtype(),
              [&](Indices at) { return x(Replaced(at, dim, at[static_cast<std::size_t>(dim)] + start)); });
}

}  // namespace hone::op_narrow
