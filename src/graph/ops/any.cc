#include "graph/op.h"

namespace hone {

HONE_OP(any, "true where any element over dim is nonzero") {
  const Operand x = call.Tensor("self");
  call.Reduction(ReduceOp::kAny, x.dtype() == DType::kU8 ? DType::kU8 : DType::kBool, x, call.Dims("dim", x.rank()),
                 call.Bool("keepdim", false), [&](Indices at) { return x(at); });
}

}  // namespace hone
