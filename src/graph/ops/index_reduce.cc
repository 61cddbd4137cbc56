#include "graph/scatter.h"

namespace hone::op_index_reduce {

HONE_OP(index_reduce, "self combined with the slices of source along dim that index names: prod, mean, amax or amin") {
  const Operand source = call.Tensor("source");
  DefineIndexScatter(
      call, ReadReduce(call, {"prod", "mean", "amax", "amin"}),
      [&](Indices at) { return source(std::vector<Expr>(at.begin(), at.begin() + source.rank())); },
      call.Bool("include_self", true));
}

}  // namespace hone::op_index_reduce
