#include "graph/op.h"

namespace hone {

HONE_OP(linear, "input @ transposed weight + bias") {
  const Operand x = call.Tensor("input"), weight = call.Tensor("weight");
  const auto bias = call.MaybeTensor("bias");
  if (x.rank() < 1 || weight.rank() != 2 || x.dim(x.rank() - 1) != weight.dim(1)) call.Fail("needs input [..., k] and weight [n, k]");
  Shape shape = x.shape();
  if (!shape.empty()) shape.back() = weight.dim(0);
  call.Output(shape, x.dtype(), [&](Indices at) {
    std::vector<Expr> row(at.begin(), at.end());
    Expr sum = Fold(ReduceOp::kSum, std::vector<std::int64_t>{weight.dim(1)}, [&](Indices k) {
      row.back() = k[0];
      return x(row) * weight({at.back(), k[0]});
    });
    return bias ? sum + bias->Broadcast(at) : sum;
  });
}

}  // namespace hone
