#include "graph/scatter.h"

namespace hone::op_scatter_add {

HONE_OP(scatter_add, "self with src added at the places of index along dim") {
  const Operand source = call.Tensor("src");
  DefineScatter(call, Scattering::kAdd,
                [&](Indices at) { return source(std::vector<Expr>(at.begin(), at.begin() + source.rank())); });
}

}  // namespace hone::op_scatter_add
