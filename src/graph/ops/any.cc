#include "graph/op.h"

namespace hone::op_any {

HONE_OP(any, "true where any element over dim is nonzero") {
  const Operand x = call.Tensor("self");
  // An empty list of dimensions reduces none of them here, where other reductions take it for all.
  const bool none = call.overload() == "dims" && call.Has("dim") && call.Ints("dim").empty();
  const std::vector<int> dims = none ? std::vector<int>{} : call.Dims("dim", x.rank());
  call.Reduction(ReduceOp::kAny, x.dtype() == DType::kU8 ? DType::kU8 : DType::kBool, x, dims,
                 call.Bool("keepdim", false), [&](Indices at) { return x(at); });
}

}  // namespace hone::op_any
