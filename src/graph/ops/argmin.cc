#include "graph/op.h"

namespace hone::op_argmin {

HONE_OP(argmin, "index of the first smallest element over dim; flat over all when dim is absent") {
  const Operand x = call.Tensor("self");
  const std::vector<int> dims =
      call.Has("dim") ? std::vector<int>{call.Dim("dim", x.rank())} : call.Dims("dim", x.rank());
  call.Reduction(ReduceOp::kArgMin, DType::kI64, x, dims, call.Bool("keepdim", false),
                 [&](Indices at) { return x(at); });
}

}  // namespace hone::op_argmin
