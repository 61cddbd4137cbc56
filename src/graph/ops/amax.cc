#include "graph/op.h"

namespace hone::op_amax {

HONE_OP(amax, "largest over dim; a NaN wins") {
  const Operand x = call.Tensor("self");
  call.Reduction(ReduceOp::kMax, x.dtype(), x, call.Dims("dim", x.rank()), call.Bool("keepdim", false),
                 [&](Indices at) { return x(at); });
}

}  // namespace hone::op_amax
