#include "graph/op.h"

namespace hone::op_embedding {

HONE_OP(embedding, "the rows of weight that indices names") {
  const Operand weight = call.Tensor("weight"), indices = call.Tensor("indices");
  if (weight.rank() != 2) return call.Fail("weight has to be a matrix");
  Shape shape = indices.shape();
  shape.push_back(weight.dim(1));
  call.Output(shape, weight.dtype(), [&](Indices at) { return weight({indices(at.first(at.size() - 1)), at.back()}); });
}

}  // namespace hone::op_embedding
