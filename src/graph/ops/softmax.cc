#include "graph/op.h"

namespace hone {

HONE_OP(softmax, "exp(self - max) over its sum along dim") {
  const Operand self = call.Tensor("self");
  const int dim = call.Dim("dim", self.rank());
  const Operand x = self.rank() == 0 ? call.Reshape(self, {1}) : self;
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
  const Operand result =
      call.Let("result", x.shape(), dtype, [&](Indices at) { return Exp(x(at) - most(row(at))) / sum(row(at)); });
  call.Output(call.Reshape(result, self.shape()));
}

}  // namespace hone
