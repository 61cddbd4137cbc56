#include "graph/op.h"

namespace hone {

HONE_OP(clamp, "min(max(self, min), max); either bound may be absent") {
  const Expr low = call.Has("min") && !call.IsTensor("min") ? call.Scalar("min") : Expr();
  const Expr high = call.Has("max") && !call.IsTensor("max") ? call.Scalar("max") : Expr();
  std::vector<Operand> operands = {call.Tensor("self")};
  if (call.IsTensor("min")) operands.push_back(call.Tensor("min"));
  if (call.IsTensor("max")) operands.push_back(call.Tensor("max"));
  const bool low_tensor = call.IsTensor("min"), high_tensor = call.IsTensor("max");
  const DType dtype = operands[0].dtype();
  const ScalarType type = ScalarTypeOf(dtype);
  call.Elementwise(dtype, operands, [&](auto v) {
    Expr x = v[0];
    if (low || low_tensor) x = Max(x, low_tensor ? v[1] : Cast(low, type));
    if (high || high_tensor) x = Min(x, high_tensor ? v[low_tensor ? 2 : 1] : Cast(high, type));
    return x;
  });
}

}  // namespace hone
