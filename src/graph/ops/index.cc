#include "graph/scatter.h"

namespace hone::op_index {

HONE_OP(index, "self at the places that indices name, one tensor a dimension, broadcast together") {
  const Operand x = call.Tensor("self");
  const auto index = ReadAdvancedIndex(call, x);
  if (index) call.Output(index->shape, x.dtype(), [&](Indices at) { return x(index->place(at)); });
}

}  // namespace hone::op_index
