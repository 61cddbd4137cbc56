#include "graph/op.h"

namespace hone {

HONE_OP(_log_softmax, "self - max - log(sum of exp(self - max)) along dim") {
  const Operand x = call.Tensor("self");
  const int dim = call.Dim("dim", x.rank());
  if (x.rank() == 0) return call.Output(x.shape(), RealType(x.dtype()), [&](Indices) { return Expr(0.0); });
  const DType dtype = RealType(call.Type("dtype", x.dtype()));
  const Shape rows = OpCall::ReducedShape(x.shape(), {dim}, true);
  const auto along = [&](Indices at, Expr k) {
    std::vector<Expr> full(at.begin(), at.end());
    full[static_cast<std::size_t>(dim)] = k;
    return full;
  };
  const auto row = [&](Indices at) { return along(at, 0); };
  const std::vector<std::int64_t> extent = {x.dim(dim)};
  const Operand most = call.Let("max", rows, dtype, [&](Indices at) {
    return Fold(ReduceOp::kMax, extent, [&](Indices k) { return Cast(x(along(at, k[0])), ScalarType::kReal); });
  });
  const Operand sum = call.Let("sum", rows, dtype, [&](Indices at) {
    return Fold(ReduceOp::kSum, extent, [&](Indices k) { return Exp(x(along(at, k[0])) - most(row(at))); });
  });
  call.Output(x.shape(), dtype, [&](Indices at) { return (x(at) - most(row(at))) - Log(sum(row(at))); });
}

}  // namespace hone
