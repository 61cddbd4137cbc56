#include "graph/op.h"

namespace hone::op_aminmax {

HONE_OP(aminmax, "smallest and largest over dim; a NaN wins") {
  const Operand x = call.Tensor("self");
  const auto dims = call.Has("dim") ? std::vector<int>{call.Dim("dim", x.rank())} : call.Dims("dim", x.rank());
  const bool keep = call.Bool("keepdim", false);
  if (x.rank() == 0) {
    call.Output(x);
    return call.Output(x);
  }
  for (const auto op : {ReduceOp::kMin, ReduceOp::kMax}) {
    call.Reduction(op, x.dtype(), x, dims, keep, [&](Indices at) { return x(at); });
  }
}

}  // namespace hone::op_aminmax
