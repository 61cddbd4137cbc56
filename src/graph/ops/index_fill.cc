#include "graph/scatter.h"

namespace hone::op_index_fill {

HONE_OP(index_fill, "self with value in the slices along dim that index names") {
  const ScalarType type = ScalarTypeOf(call.Tensor("self").dtype());
  const Expr value =
      Cast(call.IsTensor("value") ? call.Tensor("value")(std::vector<Expr>{}) : call.Scalar("value"), type);
  DefineIndexScatter(call, Scattering::kOverwrite, [&](Indices) { return value; });
}

}  // namespace hone::op_index_fill
