#include <limits>

#include "graph/op.h"

namespace hone::op_logsumexp {

HONE_OP(logsumexp, "log(sum over dim of exp(self)), shifted by the largest element") {
  const Operand x = call.Tensor("self");
  const DType dtype = RealType(x.dtype());
  const auto dims = call.Dims("dim", x.rank());
  const bool keep = call.Bool("keepdim", false);
  const Shape kept = OpCall::ReducedShape(x.shape(), dims, true);
  std::vector<std::int64_t> extents;
  for (const int dim : dims) extents.push_back(x.dim(dim));
  const auto inside = [&](Indices at, Indices reduced) {
    std::vector<Expr> full(at.begin(), at.end());
    for (std::size_t i = 0; i < dims.size(); ++i) full[static_cast<std::size_t>(dims[i])] = reduced[i];
    return full;
  };
  // An infinite maximum must not make inf - inf.
  const Operand most = call.Let("max", kept, KeptIn(dtype), [&](Indices at) {
    const Expr largest =
        Fold(ReduceOp::kMax, extents, [&](Indices k) { return Cast(x(inside(at, k)), ScalarType::kReal); });
    return Select(Equal(Abs(largest), std::numeric_limits<double>::infinity()), 0.0, largest);
  });
  const Operand result = call.Let("logsumexp", kept, dtype, [&](Indices at) {
    return Log(Fold(ReduceOp::kSum, extents, [&](Indices k) { return Exp(x(inside(at, k)) - most(at)); })) + most(at);
  });
  call.Output(keep ? result : call.Reshape(result, OpCall::ReducedShape(x.shape(), dims, false)));
}

}  // namespace hone::op_logsumexp
