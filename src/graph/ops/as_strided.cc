#include <algorithm>

#include "graph/op.h"

namespace hone::op_as_strided {

HONE_OP(as_strided, "the element of self, row after row, at storage_offset + the sum of index * stride") {
  const Operand x = call.Tensor("self");
  const Shape size = call.Ints("size");
  const auto stride = call.Ints("stride");
  const std::int64_t offset = call.Int("storage_offset", 0);
  if (size.size() != stride.size()) return call.Fail("size and stride differ in length");
  std::int64_t last = offset;
  for (std::size_t d = 0; d < size.size(); ++d) last += std::max<std::int64_t>(size[d] - 1, 0) * stride[d];
  if (offset < 0 || (ElementCount(size) > 0 && last >= ElementCount(x.shape()))) return call.Fail("reads past the end");
  call.Output(size, x.dtype(), [&](Indices at) {
    Expr flat = offset;
    for (std::size_t d = 0; d < size.size(); ++d) flat = flat + at[d] * stride[d];
    return x(Unflatten(flat, x.shape()));
  });
}

}  // namespace hone::op_as_strided
