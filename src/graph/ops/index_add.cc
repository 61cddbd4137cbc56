#include "graph/scatter.h"

namespace hone::op_index_add {

HONE_OP(index_add, "self with alpha source added to the slices along dim that index names") {
  const Operand source = call.Tensor("source");
  const ScalarType type = ScalarTypeOf(call.Tensor("self").dtype());
  const Expr alpha = Cast(call.Scalar("alpha", 1), type);
  const bool plain = alpha->real == 1 || (type != ScalarType::kReal && alpha->whole == 1);
  DefineIndexScatter(call, Scattering::kAdd, [&](Indices at) {
    const Expr value = source(std::vector<Expr>(at.begin(), at.begin() + source.rank()));
    return plain ? value : value * alpha;
  });
}

}  // namespace hone::op_index_add
