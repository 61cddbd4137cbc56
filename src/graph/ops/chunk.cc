#include "graph/parts.h"

namespace hone::op_chunk {

HONE_OP(chunk, "self in as many parts along dim, alike but the last") {
  const Operand x = call.Tensor("self");
  const int dim = call.Dim("dim", x.rank(), 0);
  const std::int64_t chunks = call.Int("chunks"), extent = x.dim(dim);
  if (chunks < 1) return call.Fail("chunks has to be positive");
  auto sizes = EvenParts(extent, (extent + chunks - 1) / chunks);
  if (extent == 0) sizes.assign(static_cast<std::size_t>(chunks), 0);
  OutputParts(call, x, dim, sizes);
}

}  // namespace hone::op_chunk
