#include "graph/op.h"

namespace hone {

HONE_OP(all, "true where all elements over dim are nonzero") {
  const Operand x = call.Tensor("self");
  call.Reduction(ReduceOp::kAll, x.dtype() == DType::kU8 ? DType::kU8 : DType::kBool, x, call.Dims("dim", x.rank()),
                 call.Bool("keepdim", false), [&](Indices at) { return x(at); });
}

}  // namespace hone
