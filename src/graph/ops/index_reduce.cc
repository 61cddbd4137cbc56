#include "graph/scatter.h"

namespace hone::op_index_reduce {

HONE_OP(index_reduce, "self combined with the slices of source along dim that index names: prod, mean, amax or amin") {
  const Operand source = call.Tensor("source");
  const std::string reduce = call.String("reduce");
  const auto how = reduce == "prod"   ? Scattering::kMultiply
                   : reduce == "mean" ? Scattering::kMean
                   : reduce == "amax" ? Scattering::kLargest
                                      : Scattering::kSmallest;
  if (how == Scattering::kSmallest && reduce != "amin") return call.Fail("reduce has to be prod, mean, amax or amin");
  DefineIndexScatter(
      call, how, [&](Indices at) { return source(std::vector<Expr>(at.begin(), at.begin() + source.rank())); },
      call.Bool("include_self", true));
}

}  // namespace hone::op_index_reduce
