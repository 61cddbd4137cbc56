#include "graph/scatter.h"

namespace hone::op_scatter_reduce {

HONE_OP(scatter_reduce, "self combined with src at the places of index along dim: sum, prod, mean, amax or amin") {
  const Operand source = call.Tensor("src");
  DefineScatter(
      call, ReadReduce(call, {"sum", "prod", "mean", "amax", "amin"}),
      [&](Indices at) { return source(std::vector<Expr>(at.begin(), at.begin() + source.rank())); },
      call.Bool("include_self", true));
}

}  // namespace hone::op_scatter_reduce
