#include "graph/scatter.h"

namespace hone::op_index_copy {

HONE_OP(index_copy, "self with source in the slices along dim that index names") {
  const Operand source = call.Tensor("source");
  DefineIndexScatter(call, Scattering::kOverwrite,
                     [&](Indices at) { return source(std::vector<Expr>(at.begin(), at.begin() + source.rank())); });
}

}  // namespace hone::op_index_copy
