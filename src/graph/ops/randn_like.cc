#include "graph/random.h"

namespace hone::op_randn_like {

HONE_OP(randn_like, "normal draws (graph/random.h)") {
  const Operand x = call.Tensor("self");
  call.Output(x.shape(), call.Type("dtype", x.dtype()),
              [&](Indices at) { return DrawnNormal(call, Flatten(at, x.shape())); });
}

}  // namespace hone::op_randn_like
