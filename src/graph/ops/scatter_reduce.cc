#include "graph/scatter.h"

namespace hone::op_scatter_reduce {

HONE_OP(scatter_reduce, "self combined with src at the places of index along dim: sum, prod, mean, amax or amin") {
  const Operand source = call.Tensor("src");
  const std::string reduce = call.String("reduce");
  const auto how = reduce == "sum"    ? Scattering::kAdd
                   : reduce == "prod" ? Scattering::kMultiply
                   : reduce == "mean" ? Scattering::kMean
                   : reduce == "amax" ? Scattering::kLargest
                                      : Scattering::kSmallest;
  if (how == Scattering::kSmallest && reduce != "amin")
    return call.Fail("reduce has to be sum, prod, mean, amax or amin");
  DefineScatter(
      call, how, [&](Indices at) { return source(std::vector<Expr>(at.begin(), at.begin() + source.rank())); },
      call.Bool("include_self", true));
}

}  // namespace hone::op_scatter_reduce
