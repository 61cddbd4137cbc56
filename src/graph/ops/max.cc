#include "graph/op.h"

namespace hone::op_max {

HONE_OP(max, "the largest element of all; over one dim also its index; of two tensors element by element") {
  const Operand x = call.Tensor("self");
  if (call.Has("other")) return call.Binary(OpCall::ResultType::kSame, [](Expr a, Expr b) { return Max(a, b); });
  const bool one = call.Has("dim");
  const std::vector<int> dims = one ? std::vector<int>{call.Dim("dim", x.rank())} : call.Dims("dim", x.rank());
  const bool keep = call.Bool("keepdim", false);
  call.Reduction(ReduceOp::kMax, x.dtype(), x, dims, keep, [&](Indices at) { return x(at); });
  if (one) call.Reduction(ReduceOp::kArgMax, DType::kI64, x, dims, keep, [&](Indices at) { return x(at); });
}

}  // namespace hone::op_max
