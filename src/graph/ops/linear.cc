#include "graph/op.h"

namespace hone::op_linear {

HONE_OP(linear, "input @ transposed weight + bias") {
  const Operand x = call.Tensor("input"), weight = call.Tensor("weight");
  const auto bias = call.MaybeTensor("bias");
  const bool one = weight.rank() == 1;  // a single row, whose dimension the result lacks
  if (x.rank() < 1 || weight.rank() < 1 || weight.rank() > 2 || x.dim(x.rank() - 1) != weight.dim(weight.rank() - 1)) {
    return call.Fail("needs input [..., k] and weight [n, k]");
  }
  Shape shape = x.shape();
  shape.pop_back();
  if (!one) shape.push_back(weight.dim(0));
  if (bias && bias->rank() > static_cast<int>(shape.size())) return call.Fail("bias has to broadcast to the product");
  call.Output(shape, x.dtype(), [&](Indices at) {
    std::vector<Expr> row(at.begin(), at.end());
    if (one) row.emplace_back(0);
    Expr sum = Fold(ReduceOp::kSum, std::vector<std::int64_t>{x.dim(x.rank() - 1)}, [&](Indices k) {
      row.back() = k[0];
      return x(row) * (one ? weight({k[0]}) : weight({at.back(), k[0]}));
    });
    return bias ? sum + bias->Broadcast(at) : sum;
  });
}

}  // namespace hone::op_linear
