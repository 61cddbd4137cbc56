#include "graph/random.h"

namespace hone::op_rand_like {

HONE_OP(rand_like, "uniform draws from [0, 1) (graph/random.h)") {
  const Operand x = call.Tensor("self");
  call.Output(x.shape(), call.Type("dtype", x.dtype()),
              [&](Indices at) { return DrawnUniform(call, Flatten(at, x.shape())); });
}

}  // namespace hone::op_rand_like
