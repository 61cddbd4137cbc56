#include "graph/parts.h"

namespace hone::op_split_with_sizes {

HONE_OP(split_with_sizes, "parts of self along dim, of the given sizes") {
  const Operand x = call.Tensor("self");
  OutputParts(call, x, call.Dim("dim", x.rank(), 0), call.Ints("split_sizes"));
}

}  // namespace hone::op_split_with_sizes
