#include "graph/op.h"

namespace hone::op_amin {

HONE_OP(amin, "smallest over dim; a NaN wins") {
  const Operand x = call.Tensor("self");
  call.Reduction(ReduceOp::kMin, x.dtype(), x, call.Dims("dim", x.rank()), call.Bool("keepdim", false),
                 [&](Indices at) { return x(at); });
}

}  // namespace hone::op_amin
