#include "graph/op.h"

namespace hone::op_masked_fill {

HONE_OP(masked_fill, "mask ? value : self") {
  const Operand x = call.Tensor("self"), mask = call.Tensor("mask");
  std::vector<Operand> operands = {x, mask};
  if (call.IsTensor("value")) operands.push_back(call.Tensor("value"));
  call.Elementwise(x.dtype(), operands, [&](auto v) {
    const Expr value = call.IsTensor("value") ? v[2] : call.Scalar("value");
    return Select(v[1], Cast(value, v[0]->type), v[0]);
  });
}

}  // namespace hone::op_masked_fill
